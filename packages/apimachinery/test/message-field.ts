import type { MessageField } from '../src/protobuf/message-type.ts';

/** A single field that is left out if it is zero, and a pointer in Go. */
export const field = (
  number: number,
  name: string,
  type: MessageField['type'],
  more: Partial<MessageField> = {},
): MessageField => ({ number, name, type, shape: 'single', dropZero: true, pointer: true, ...more });
