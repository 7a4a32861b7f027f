import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isJsonObject, parseJson, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { ClientConfig, ExecPlugin, Kubeconfig } from '@multiplane/client';

const group = 'client.authentication.k8s.io';
const clusterExtension = `${group}/exec`;

/**
 * Runs a credential plugin (kubelogin, aws, gcloud) and reads the ExecCredential that it prints. It may interact with the
 * user on stderr and stdin. Throws client-go's texts.
 */
export function execCredential(options: {
  readonly exec: ExecPlugin;
  readonly cluster: Kubeconfig['clusters'][number]['cluster'];
  readonly environment: NodeJS.ProcessEnv;
}): Pick<ClientConfig, 'token' | 'certificate' | 'key'> {
  const { exec, environment } = options;
  const interactive = exec.interactiveMode !== 'Never' && process.stdin.isTTY;
  if (exec.interactiveMode === 'Always' && !interactive)
    throw failure('exec plugin cannot support interactive mode: standard input is not a terminal');
  const info: JsonObject = {
    kind: 'ExecCredential',
    apiVersion: exec.apiVersion,
    spec: { ...(exec.provideClusterInfo === true ? { cluster: clusterInfo(options.cluster) } : {}), interactive },
  };
  const ran = spawnSync(exec.command, exec.args ?? [], {
    env: {
      ...environment,
      ...Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    },
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (ran.error !== undefined) throw failure(startFailure(exec, ran.error));
  if (ran.status !== 0) throw failure(`exec: executable ${exec.command} failed with exit code ${ran.status ?? -1}`);
  return credentialIn(ran.stdout, exec.apiVersion);
}

function credentialIn(printed: string, apiVersion: string): Pick<ClientConfig, 'token' | 'certificate' | 'key'> {
  let credential: Json;
  try {
    credential = parseJson(printed);
  } catch (cause) {
    throw failure(`decoding stdout: ${(cause as Error).message}`);
  }
  const { apiVersion: version, status } = isJsonObject(credential) ? credential : {};
  if (version !== apiVersion) {
    const returned = typeof version === 'string' ? version : '';
    throw failure(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${returned}`);
  }
  if (status === undefined || !isJsonObject(status)) throw failure("exec plugin didn't return a status field");
  const text = (field: string): string | undefined => {
    const value = status[field];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [token, certificate, key] = [text('token'), text('clientCertificateData'), text('clientKeyData')];
  if (token === undefined && certificate === undefined && key === undefined)
    throw failure("exec plugin didn't return a token or cert/key pair");
  if ((certificate === undefined) !== (key === undefined))
    throw failure('exec plugin returned only certificate or key, not both');
  return {
    ...(token === undefined ? {} : { token }),
    ...(certificate === undefined ? {} : { certificate, key }),
  };
}

function clusterInfo(cluster: Kubeconfig['clusters'][number]['cluster']): JsonObject {
  const authority = cluster['certificate-authority'];
  const data =
    cluster['certificate-authority-data'] ??
    (authority === undefined ? undefined : readFileSync(authority).toString('base64'));
  const config = cluster.extensions?.find(({ name }) => name === clusterExtension)?.extension;
  const name = cluster['tls-server-name'];
  return {
    server: cluster.server,
    ...(name === undefined ? {} : { 'tls-server-name': name }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { 'insecure-skip-tls-verify': true } : {}),
    ...(data === undefined ? {} : { 'certificate-authority-data': data }),
    config: config ?? null,
  };
}

function startFailure({ command, installHint }: ExecPlugin, error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return `exec: ${error.message}`;
  const hint = installHint ?? '';
  return `exec: executable ${command} not found${hint === '' ? '' : `\n\n${hint}`}`;
}

const failure = (text: string): Error => new Error(`getting credentials: ${text}`);
