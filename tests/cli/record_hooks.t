#!/bin/bash
# SPDX-License-Identifier: MIT
# Frameworks of an unsupported version, or without a function that the hooks
# need: the job is unchanged, and job.json, the summary and the report name each
# of them.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1
export IOREEL_HOOKS=$TOP/preload/python
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3)
[ -x "$PY" ] || skip_all 'no python3'

# module NAME TEXT: a Python module, with its packages, below fake/
module() {
	local path=fake/${1//./\/}
	mkdir -p "$(dirname "$path")"
	printf '%b' "$2" >"$path.py"
}
package() {
	mkdir -p "fake/${1//./\/}"
	printf '%b' "$2" >"fake/${1//./\/}/__init__.py"
}
package torch '__version__ = "2099.1.0+cpu"\n'
package torch.distributed ''
package torch.distributed.checkpoint ''
package keras ''
package keras.src ''
module keras.src.version '__version__ = "77.0"\n'
package keras.src.callbacks ''
module keras.src.callbacks.callback_list ''
package tensorflow ''
package tensorflow.python ''
package tensorflow.python.framework ''
module tensorflow.python.framework.versions ''	# no __version__ in it
package tensorflow.python.data ''
package tensorflow.python.data.ops ''
module tensorflow.python.data.ops.iterator_ops ''
cat >job.py <<'PY'
import keras.src.callbacks.callback_list
import tensorflow.python.data.ops.iterator_ops
import torch.distributed.checkpoint
print(torch.__version__, open("data").read())
PY
echo hello >data
export PYTHONPATH=$T/fake
$PY job.py >bare 2>&1
"$IOREEL" record -o new.reel -- $PY job.py >rec 2>err
check 'the job is unchanged' 'grep -q hello rec && diff bare rec'
state() {
	$PY -S -c 'import json, sys
print(json.load(open(sys.argv[1] + "/job.json"))["hooks"].get(sys.argv[2]))' \
		"$1" "$2"
}
is 'job.json: a version far in the future' \
	"$(state new.reel torch)" 'unsupported 2099.1.0'
is 'a package of the framework' \
	"$(state new.reel torch.distributed.checkpoint)" 'unsupported 2099.1.0'
is 'another framework' "$(state new.reel keras.steps)" 'unsupported 77.0'
is 'a hook that failed completely' \
	"$(state new.reel tensorflow)" 'failed: AttributeError'
is 'record prints all of it in one line' \
	"$(grep -c '^ioreel: not all hooks are in: .*torch (unsupported 2099.1.0).*; see ioreel-anchors(7)$' err)" 1
check 'and the report, above its numbers' \
	'"$IOREEL" report new.reel | tr -s "\n " " " |
	 grep -q "hooks missing: .*tensorflow (failed: AttributeError), torch (unsupported 2099.1.0)"'
"$IOREEL" record -q -o quiet.reel -- $PY job.py >rec 2>err
is '-q: job.json is the same' \
	"$(state quiet.reel torch)" 'unsupported 2099.1.0'
check 'and there is no line' '[ ! -s err ]'
"$IOREEL" record --events none -o counted.reel -- $PY job.py >rec 2>err
is '--events none: the same' \
	"$(state counted.reel torch)" 'unsupported 2099.1.0'

# A process with the hooks and one without: the worse state is reported.
module torch.utils ''
cat >both.py <<'PY'
import os, sys
if len(sys.argv) < 2:
    os.system("%s both.py old" % sys.executable)
    os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].replace("fake", "none")
import ctypes
note = ctypes.CDLL(None).ioreel_note
note(b"hook:mine", b"on" if len(sys.argv) < 2 else b"unsupported \x1b[2J\xff")
note(b"hook:" + b"n" * 100, b"too long a name")
for i in range(40):
    note(b"hook:many%d" % i, b"on")
PY
"$IOREEL" record -o both.reel -- $PY both.py >rec 2>err
is 'the worse state of two processes, with any bytes in it' \
	"$(state both.reel mine)" 'unsupported \x1b[2J\xff'
is 'on the terminal too' \
	"$(grep -ac 'mine (unsupported .x1b\[2J.xff); see' err)" 1
check 'and in the report' \
	'"$IOREEL" report both.reel | grep -aq "mine (unsupported .x1b\[2J"'
# Keras 2 has its parts in other modules than Keras 3, which uses their names for packages.
package tf_keras ''
package tf_keras.src ''
package tf_keras.src.engine ''
mkdir fake/tf_keras-2.99.0.dist-info
printf 'Metadata-Version: 2.1\nName: tf_keras\nVersion: 2.99.0\n' >fake/tf_keras-2.99.0.dist-info/METADATA
module tf_keras.src.callbacks 'class CallbackList(object):
    model = None
    def on_epoch_begin(self, epoch, logs=None): pass
    def on_train_batch_begin(self, batch, logs=None): pass
    def on_train_batch_end(self, batch, logs=None): pass
    def on_epoch_end(self, epoch, logs=None): pass
'
module tf_keras.src.engine.training 'from tf_keras.src.callbacks import CallbackList
class Model(object):
    def fit(self, epochs, steps):
        callbacks = CallbackList()
        for epoch in range(epochs):
            callbacks.on_epoch_begin(epoch)
            for step in range(steps):
                callbacks.on_train_batch_begin(step)
                callbacks.on_train_batch_end(step)
            self.evaluate()
            callbacks.on_epoch_end(epoch)
        self.save()
    def evaluate(self): pass
    def predict(self): pass
    def save(self): pass
    def save_weights(self): pass
    def load_weights(self): pass
'
package keras.callbacks 'class CallbackList(object): pass
'
cat >keras2.py <<'PY'
import keras.callbacks
from tf_keras.src.engine.training import Model
model = Model()
model.fit(2, 3)
model.load_weights()
PY
"$IOREEL" record -q -o keras2.reel -- $PY keras2.py >rec 2>&1
is 'Keras 2: spans' "$(cat rec; "$IOREEL" sql keras2.reel --format tsv "SELECT group_concat(name || ' ' || n, ', ')
	FROM (SELECT name, count(*) AS n FROM v_span WHERE closed GROUP BY name)" | tail -1)" \
	'checkpoint 1, epoch 2, eval 2, restore 1, step 6'
is 'and its name; a package of Keras 3 is none of its modules' "$("$IOREEL" sql keras2.reel --format tsv "SELECT
	(SELECT value FROM note WHERE key = 'framework'), (SELECT count(*) FROM v_hook_failure)" | tail -1 | tr '\t' ' ')" \
	'Keras 2.99.0 0'

# JAX is named when it gets a device, not when a library imports it to look.
package jax ''
module jax.version '__version__ = "0.9.1"\n'
package jax._src ''
module jax._src.xla_bridge 'def _init_backend(name): print(name)\n'
for use in pass 'jax._src.xla_bridge._init_backend("cpu")'; do
	"$IOREEL" record -q -o jax.reel -- $PY -c "import jax._src.xla_bridge
open('data').read()
$use" >rec
	sed -n 's/.*\(JAX [0-9.]*\).*/\1/p' <<<"$("$IOREEL" report jax.reel)"
	rm -r jax.reel
done >named
is 'JAX, by its first device' "$(cat named rec)" "$(printf 'JAX 0.9.1\ncpu')"
unset PYTHONPATH
"$IOREEL" record -o none.reel -- $PY -S -c 'open("data")' 2>err
check 'without problems there is no line' \
	'! grep -q hooks err && ! "$IOREEL" report none.reel | grep -q "hooks:" &&
	 grep -q "\"hooks\": {}" none.reel/job.json'
finish
