# cmake -DINPUT=file -DOUTPUT=file.cc -DNAMESPACE=ns -DNAME=kName -P EmbedFile.cmake
# Writes the bytes of a file as a C++ array NAME and its size NAMESize. The code that uses them must declare
# them.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],0x[0-9a-f][0-9a-f],)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <cstddef>\n\nnamespace ${NAMESPACE} {\n\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}Size;\nconst unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}Size = sizeof(${NAME});\n\n}  // namespace ${NAMESPACE}\n")
