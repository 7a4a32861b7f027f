/** OBJECT IDENTIFIER 2.5.4.10, organizationName, as DER. */
const organizationOid = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x0a]);
const sequence = 0x30;
const set = 0x31;
const utf8 = 0x0c;
const bmp = 0x1e;

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Organizations in the subject of a certificate request (base64 of PEM, as in `spec.request`). An unparsable request
 * yields none: validation rejects it.
 */
export function csrOrganizations(request: string): string[] {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const body = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([^-]+)-----END/.exec(pem)?.[1];
  if (body === undefined) return [];
  const der = Buffer.from(body, 'base64');
  try {
    // CertificationRequest { info { version, subject { SET { SEQUENCE { type, value } } }, … }, … } (RFC 2986).
    const info = childrenOf(der, elementAt(der, 0))[0];
    const subject = info === undefined ? undefined : childrenOf(der, info)[1];
    if (subject === undefined) return [];
    const organizations: string[] = [];
    for (const relative of childrenOf(der, subject)) {
      if (relative.tag !== set) continue;
      for (const attribute of childrenOf(der, relative)) {
        if (attribute.tag !== sequence) continue;
        const [type, value] = childrenOf(der, attribute);
        if (type === undefined || value === undefined) continue;
        if (der.subarray(attribute.start, type.end).equals(organizationOid)) organizations.push(textOf(der, value));
      }
    }
    return organizations;
  } catch (error) {
    if (error instanceof NotDerError) return [];
    throw error;
  }
}

function textOf(der: Buffer, { tag, start, end }: Element): string {
  const bytes = der.subarray(start, end);
  if (tag === bmp) return Buffer.from(bytes).swap16().toString('utf16le');
  return bytes.toString(tag === utf8 ? 'utf8' : 'latin1');
}

class NotDerError extends Error {
  override readonly name = 'NotDerError';
}

/** Start and end of the content. Throws a NotDerError if it exceeds the buffer. */
function elementAt(der: Buffer, at: number): Element {
  if (at + 2 > der.length) throw new NotDerError();
  const tag = der.readUInt8(at);
  let length = der.readUInt8(at + 1);
  let start = at + 2;
  if (length >= 0x80) {
    const size = length & 0x7f;
    if (size === 0 || size > 4 || start + size > der.length) throw new NotDerError();
    length = der.readUIntBE(start, size);
    start += size;
  }
  if (start + length > der.length) throw new NotDerError();
  return { tag, start, end: start + length };
}

function childrenOf(der: Buffer, parent: Element): Element[] {
  const children: Element[] = [];
  for (let at = parent.start; at < parent.end;) {
    const child = elementAt(der, at);
    children.push(child);
    at = child.end;
  }
  return children;
}
