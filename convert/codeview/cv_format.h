/*
 * cv_format.h - numbers of the CodeView format, spelled as in Microsoft's cvinfo.h; private to this folder.
 */
#ifndef CONVERT_CODEVIEW_CV_FORMAT_H
#define CONVERT_CODEVIEW_CV_FORMAT_H

enum {
	CV_SIGNATURE_C13 = 4, /* begins the stream of a module */

	/* Symbols */
	S_END = 0x0006,
	S_THUNK32 = 0x1102,
	S_BLOCK32 = 0x1103,
	S_WITH32 = 0x1104,
	S_LPROC32 = 0x110f,
	S_GPROC32 = 0x1110,
	S_GMANPROC = 0x112a,
	S_LMANPROC = 0x112b,
	S_TRAMPOLINE = 0x112c,
	S_SEPCODE = 0x1132,
	S_LPROC32_ID = 0x1146,
	S_GPROC32_ID = 0x1147,
	S_INLINESITE = 0x114d,
	S_INLINESITE_END = 0x114e,
	S_PROC_ID_END = 0x114f,
	S_LPROC32_DPC = 0x1155,
	S_LPROC32_DPC_ID = 0x1156,
	S_INLINESITE2 = 0x115d,

	/* Subsections of line information */
	DEBUG_S_LINES = 0xf2,
	DEBUG_S_FILECHKSMS = 0xf4,
	DEBUG_S_INLINEELINES = 0xf6,
	DEBUG_S_CROSSSCOPEIMPORTS = 0xf7,
	DEBUG_S_CROSSSCOPEEXPORTS = 0xf8,

	CV_INLINEE_SOURCE_LINE_SIGNATURE = 0,
	CV_INLINEE_SOURCE_LINE_SIGNATURE_EX = 1,

	CV_LINE_NUMBER = 0xffffff,      /* the bits of a line number */
	CV_LINE_ALWAYS_STEP = 0xfeefee, /* no line: a debugger steps into what is called here */
	CV_LINE_NEVER_STEP = 0xf00f00,  /* no line: it steps over it */

	/* Types and items */
	LF_NUMERIC = 0x8000, /* a number from here on says what follows; a smaller one is the value */
	LF_CHAR = 0x8000,
	LF_SHORT = 0x8001,
	LF_USHORT = 0x8002,
	LF_LONG = 0x8003,
	LF_ULONG = 0x8004,
	LF_QUADWORD = 0x8009,
	LF_UQUADWORD = 0x800a,
	LF_CLASS = 0x1504,
	LF_STRUCTURE = 0x1505,
	LF_UNION = 0x1506,
	LF_ENUM = 0x1507,
	LF_INTERFACE = 0x1519,
	LF_FUNC_ID = 0x1601,
	LF_SUBSTR_LIST = 0x1604,
	LF_MFUNC_ID = 0x1602,
	LF_STRING_ID = 0x1605,
	LF_CLASS2 = 0x1608,
	LF_STRUCTURE2 = 0x1609,
	LF_INTERFACE2 = 0x160b,

	/* Binary annotations */
	BA_OP_CodeOffset = 1,
	BA_OP_ChangeCodeOffsetBase = 2,
	BA_OP_ChangeCodeOffset = 3,
	BA_OP_ChangeCodeLength = 4,
	BA_OP_ChangeFile = 5,
	BA_OP_ChangeLineOffset = 6,
	BA_OP_ChangeLineEndDelta = 7,
	BA_OP_ChangeRangeKind = 8,
	BA_OP_ChangeColumnStart = 9,
	BA_OP_ChangeColumnEndDelta = 10,
	BA_OP_ChangeCodeOffsetAndLineOffset = 11,
	BA_OP_ChangeCodeLengthAndCodeOffset = 12,
	BA_OP_ChangeColumnEnd = 13,
};

#endif
