#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# The language of the sources: no comment begins with a pronoun in the place of
# its subject, no replaced identifier is left, and no line of C or SQL is so long
# that a comment in it was never wrapped (clang-format wraps code alone).
use strict;
use warnings;
use Cwd 'abs_path';
use File::Basename 'dirname';

my $top = abs_path(dirname($0) . '/../..');
chdir $top or die "$top: $!";
my @files = split /\0/, (-e '.git' ? `git ls-files -z` : '');
unless (@files) {
	print "1..0 # SKIP not a git checkout\n";
	exit;
}

# Files whose words are frozen, and this one.
@files = grep { !m{^(schemas/upgrade|tests/data)/} && $_ ne 'tests/cli/language.t' && -f && !-l } @files;

my $first = qr/(?:What|Who|Whom|Whose|Nobody|Of)\b/;
my $replaced = join '|', qw(
	shim_with_file shim_apart\w* shim_temp_\w+ role_plays role_meets role_looks
	PLAN_OP_MEET reel_planes\w* heir_of wake_ns zero_ns (?:reel_)?ask_order\w*
	(?:reel_)?end_heap\w* (?:reel_)?stream_log\w* reel_line\w* reel_machine\w*
	record_machine\w* record_witness\w* cmd_witness record_why\w* untold_bytes
	beneath_(?:calls|bytes)
	METRIC_UPPER METRIC_NOTHING),
	'struct (?:who|marks|meetings?|claims?|tails?|history|objects|inserts)';

# The first lines of the comments: [line, text]. Lines of "#" and "--" that
# follow each other are one comment.
sub comments {
	my ($name, $text) = @_;
	my ($inside, $n, @found) = (0, 0);
	if ($name =~ /\.(?:c|h|def)$/) {
		while ($text =~ m{/\*+\s*([^*\s][^\n]*)|//\s*([^\n]*)}g) {
			push @found, [1 + (substr($text, 0, $-[0]) =~ tr/\n//), $1 // $2];
		}
		return @found;
	}
	my $mark = $name =~ /\.sql$/ ? '--' : '#';
	for my $line (split /\n/, $text) {
		$n++;
		if ($line =~ /^\s*\Q$mark\E[^!\w]?\s*(.*)/) {
			push @found, [$n, $1] unless $inside;
			$inside = $1 !~ /^SPDX/;
		} else {
			$inside = 0;
			push @found, [$n, $1] if $line =~ /\s\Q$mark\E\s+(\S.*)$/ || $line =~ /^\s*"""(.*)/;
		}
	}
	return @found;
}

my $columns = 100;
my (@begins, @left, @long);
for my $name (@files) {
	open my $f, '<', $name or die "$name: $!";
	my $text = do { local $/; <$f> } // '';
	close $f;
	next if $text =~ /\0/;
	while ($text =~ /\b($replaced)\b/g) {
		push @left, "$name:" . (1 + (substr($text, 0, $-[0]) =~ tr/\n//)) . ": $1";
	}
	next unless $name =~ /\.(?:c|h|def|sql|sh|t|py)$/ || $text =~ /^#!.*\b(?:sh|bash|python3|perl)\b/;
	if ($name =~ /\.(?:c|h|sql)$/) {
		my $n = 0;
		push @long, map { "$name:$_->[0]" } grep { length $_->[1] > $columns } map { [++$n, $_] } split /\n/, $text;
	}
	push @begins, map { "$name:$_->[0]: $_->[1]" } grep { $_->[1] =~ /^$first/ } comments($name, $text);
}

my $n = 0;
for my $test (['comments begin with their subject', @begins], ['replaced identifiers are gone', @left],
	['lines are wrapped', @long]) {
	my ($title, @faults) = @$test;
	$n++;
	print @faults ? 'not ' : '', "ok $n - $title\n";
	print "# $_\n" for @faults;
}
print "1..$n\n";
exit(@begins || @left || @long ? 1 : 0);
