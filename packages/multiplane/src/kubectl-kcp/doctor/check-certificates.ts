import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { errorText } from '@multiplane/apimachinery';
import type { ClientConfig } from '@multiplane/client';
import { ok, problem, warning, type Finding } from './finding.ts';

const dayMs = 24 * 3600 * 1000;
const soonDays = 14;
const connectTimeoutMs = 5_000;

/** Whether the client certificate and that of the server are valid, and for how long. */
export async function checkCertificates(
  config: ClientConfig,
  modules: { readonly now: () => number; readonly readServerCertificate?: (config: ClientConfig) => Promise<Buffer> },
): Promise<Finding[]> {
  const { readServerCertificate = serverCertificate, now } = modules;
  const findings: Finding[] = [];
  if (config.certificate !== undefined)
    findings.push(
      validity(
        'client certificate',
        config.certificate,
        now(),
        'get a new kubeconfig from the administrator of the server',
      ),
    );
  if (config.insecure === true)
    findings.push(
      warning(
        'server certificate',
        'it is not verified, because of insecure-skip-tls-verify',
        'put certificate-authority-data into the kubeconfig instead',
      ),
    );
  // Behind an HTTP proxy the certificate is that of another connection.
  if (!config.server.startsWith('https:') || config.proxy !== undefined) return findings;
  // A server that cannot be reached is reported by the check of the server.
  const certificate = await readServerCertificate(config).catch(() => undefined);
  if (certificate !== undefined)
    findings.push(
      validity(
        'server certificate',
        certificate,
        now(),
        'the administrator of the server has to renew it (docs/operate.md)',
      ),
    );
  return findings;
}

function validity(check: string, certificate: string | Buffer, now: number, remedy: string): Finding {
  let parsed;
  try {
    parsed = new X509Certificate(certificate);
  } catch (error) {
    return problem(check, `it is not a certificate in PEM form: ${errorText(error)}`, remedy);
  }
  const days = Math.floor((Date.parse(parsed.validTo) - now) / dayMs);
  const until = new Date(parsed.validTo).toISOString();
  if (Date.parse(parsed.validFrom) > now)
    return problem(
      check,
      `it is not valid before ${new Date(parsed.validFrom).toISOString()}`,
      'check the clock of this machine',
    );
  if (days < 0) return problem(check, `it expired at ${until}`, remedy);
  return days < soonDays
    ? warning(check, `it expires at ${until}, in ${days} days`, remedy)
    : ok(check, `valid until ${until}`);
}

/** The certificate that the server presents, in DER form, valid or not. */
function serverCertificate({ server, serverName }: ClientConfig): Promise<Buffer> {
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isAddress = /^[\d.]+$|:/.test(host);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: port === '' ? 443 : Number(port),
      rejectUnauthorized: false,
      ...(serverName !== undefined ? { servername: serverName } : isAddress ? {} : { servername: host }),
    });
    socket.setTimeout(connectTimeoutMs, () =>
      socket.destroy(new Error(`no answer within ${connectTimeoutMs / 1000} s`)),
    );
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().raw);
      socket.destroy();
    });
  });
}
