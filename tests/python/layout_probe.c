/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled against the headers of a CPython: prints the fields of struct gt_python_layout as these
 * headers have them, one "name value" a line.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#elif PY_VERSION_HEX < 0x030e0000
#include <internal/pycore_frame.h>
#else
#include <internal/pycore_interpframe_structs.h>
#endif

#define PRINT(name, value)        printf("%s %zu\n", name, (size_t)(value))
#define FIELD(name, type, member) PRINT(name, offsetof(type, member))

static void print_frame(void)
{
#if PY_VERSION_HEX < 0x030b0000
	FIELD("thread_frame", PyThreadState, frame);
	FIELD("frame_previous", PyFrameObject, f_back);
	FIELD("frame_code", PyFrameObject, f_code);
	FIELD("frame_instruction", PyFrameObject, f_lasti);
	FIELD("code_bytes", PyCodeObject, co_code);
	FIELD("code_name", PyCodeObject, co_name);
#else
	FIELD("frame_previous", _PyInterpreterFrame, previous);
	FIELD("frame_owner", _PyInterpreterFrame, owner);
	FIELD("code_adaptive", PyCodeObject, co_code_adaptive);
	FIELD("code_name", PyCodeObject, co_qualname);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
	FIELD("thread_frame", PyThreadState, cframe);
	FIELD("cframe_frame", _PyCFrame, current_frame);
	FIELD("frame_code", _PyInterpreterFrame, f_code);
	FIELD("frame_instruction", _PyInterpreterFrame, prev_instr);
#elif PY_VERSION_HEX >= 0x030d0000
	FIELD("thread_frame", PyThreadState, current_frame);
	FIELD("frame_code", _PyInterpreterFrame, f_executable);
	FIELD("frame_instruction", _PyInterpreterFrame, instr_ptr);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
	FIELD("frame_entry", _PyInterpreterFrame, is_entry);
#endif
}

int main(void)
{
	PRINT("version", PY_VERSION_HEX >> 16);
	FIELD("thread_id", PyThreadState, thread_id);
	print_frame();
	FIELD("code_filename", PyCodeObject, co_filename);
	FIELD("code_first_line", PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX < 0x030a0000
	FIELD("code_table", PyCodeObject, co_lnotab);
#else
	FIELD("code_table", PyCodeObject, co_linetable);
#endif
	FIELD("object_type", PyObject, ob_type);
	FIELD("bytes_size", PyVarObject, ob_size);
	FIELD("bytes_data", PyBytesObject, ob_sval);
	FIELD("string_length", PyASCIIObject, length);
	FIELD("string_state", PyASCIIObject, state);
	PRINT("string_ascii", sizeof(PyASCIIObject));
	PRINT("string_compact", sizeof(PyCompactUnicodeObject));
	return 0;
}
