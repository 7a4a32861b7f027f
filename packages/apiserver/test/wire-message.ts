/** Fields of a message by number, each with its values in their order. */
export type Message = Record<number, (Buffer | number)[]>;

/** FOR TESTS: reads the protobuf wire format without knowing what it means. */
export function readMessage(bytes: Buffer): Message {
  const message: Message = {};
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const values = (message[Math.floor(tag / 8)] ??= []);
    if (tag % 8 === 0) values.push(varint());
    else if (tag % 8 === 1) values.push(bytes.readDoubleLE((at += 8) - 8));
    else {
      const length = varint();
      values.push(bytes.subarray(at, (at += length)));
    }
  }
  return message;
}

/** The message at a path of fields. */
export const inner = (message: Message, ...fields: number[]): Message =>
  fields.reduce((found, field) => readMessage(found[field]?.[0] as Buffer), message);

/** The values of a field as texts. */
export const texts = (message: Message, field: number): string[] => (message[field] ?? []).map(String);
