export interface PemBlock {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const block = /-----BEGIN ([^\r\n]*?)-----[ \t]*\r?\n([\s\S]*?)-----END \1-----[ \t]*(?:\r?\n|$)/g;

/** The well-formed PEM blocks of a text, in order (RFC 7468); what stands between them is skipped. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const match of text.matchAll(block)) {
    const [, type = '', body = ''] = match;
    const headers = /^(?:[^\r\n:]+:[^\r\n]*\r?\n)+(?:[ \t]*\r?\n)/.exec(body)?.[0] ?? '';
    const base64 = body.slice(headers.length).replaceAll(/\s/g, '');
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) continue;
    blocks.push({ type, hasHeaders: headers !== '', bytes: Buffer.from(base64, 'base64') });
  }
  return blocks;
}

/** Why bytes are no single DER sequence of the length they have, in the words of Go's decoder; undefined when they are. */
export function derSequenceProblem(bytes: Buffer): string | undefined {
  if (bytes.length < 2) return 'asn1: syntax error: truncated tag or length';
  if (bytes[0] !== 0x30) return "asn1: structure error: tags don't match";
  const first = bytes[1] as number;
  let length = first;
  let header = 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4 || bytes.length < 2 + count) return 'asn1: structure error: invalid length';
    length = bytes.readUIntBE(2, count);
    header += count;
  }
  if (bytes.length < header + length) return 'asn1: syntax error: data truncated';
  return bytes.length > header + length ? 'asn1: syntax error: trailing data' : undefined;
}
