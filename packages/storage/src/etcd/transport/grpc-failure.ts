const statusNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];

/** The error of a call, with the text that grpc-js gives it: `14 UNAVAILABLE: …`. */
export function grpcFailure(status: number, text: string, cause?: unknown): Error {
  return new Error(`${status} ${statusNames[status] ?? 'UNKNOWN'}: ${text}`, { cause });
}
