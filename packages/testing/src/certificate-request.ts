import { generateKeyPairSync, sign } from 'node:crypto';

const tlv = (tag: number, ...content: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  const { length } = body;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const sequence = (...content: readonly Buffer[]): Buffer => tlv(0x30, ...content);
const set = (...content: readonly Buffer[]): Buffer => tlv(0x31, ...content);
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'));

const attributeTypes = { O: '55040a', OU: '55040b', CN: '550403' } as const;

/** One attribute of a subject, in the order of the certificate. */
export type SubjectAttribute = readonly [type: keyof typeof attributeTypes, value: string];

/** A PKCS#10 request with a new EC key, both PEM. `uri`: a subject alternative name that it asks for. */
export function certificateRequest(
  subject: readonly SubjectAttribute[],
  { uri }: { readonly uri?: string } = {},
): { readonly request: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(
    ...subject.map(([type, value]) => set(sequence(oid(attributeTypes[type]), tlv(0x0c, Buffer.from(value))))),
  );
  // subjectAltName within the attribute extensionRequest (RFC 2985 5.4.2).
  const wanted =
    uri === undefined
      ? []
      : [
          sequence(
            oid('2a864886f70d01090e'),
            set(sequence(sequence(oid('551d11'), tlv(0x04, sequence(tlv(0x86, Buffer.from(uri))))))),
          ),
        ];
  const info = sequence(
    tlv(0x02, Buffer.from([0])),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa0, ...wanted),
  );
  const signature = sign('sha256', info, privateKey);
  // ecdsa-with-SHA256.
  const der = sequence(info, sequence(oid('2a8648ce3d040302')), tlv(0x03, Buffer.from([0]), signature));
  const lines = der.toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    request: `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
