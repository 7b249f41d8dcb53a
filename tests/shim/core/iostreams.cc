// SPDX-License-Identifier: MIT
// Files through the C++ library: the calls of libstdc++ show every byte.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

int main()
{
	std::vector<char> block(100000, 'b');
	std::string word;
	long total = 0;

	{
		std::ofstream out("stream.bin", std::ios::binary);
		out.write(block.data(), block.size());
		for (int i = 0; i < 10000; i++)
			out << i << '\n';
		out.seekp(10);
		out << "seek";
	}
	{
		std::ifstream in("stream.bin", std::ios::binary);
		in.read(block.data(), 50000);
		total += in.gcount();
		in.seekg(100000);
		while (in >> word)
			total += word.size() + 1;
	}
	{
		std::fstream both("stream.bin", std::ios::in | std::ios::out | std::ios::ate);
		std::cout << both.tellg() << '\n';
		both << "end";
	}
	std::ifstream none("no-such-file");
	std::filesystem::copy_file("stream.bin", "stream.copy");
	std::cout << total << ' ' << none.good() << ' '
		  << std::filesystem::file_size("stream.copy") << '\n';
	std::filesystem::remove("stream.copy");
	return 0;
}
