import { isJsonObject, parseJson } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';

const path = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~';

/** The logical cluster of the home workspace of a user; null without one. Rejects when the API server does not answer. */
export async function homeWorkspaceOf(server: ApiServer, credential: Credential): Promise<string | null> {
  const { status, text } = await apiRequest(server, credential, { method: 'GET', path });
  if (status !== 200) return null;
  const workspace = parseJson(text);
  const spec = isJsonObject(workspace) ? (workspace['spec'] ?? null) : null;
  const url = isJsonObject(spec) ? spec['URL'] : undefined;
  if (typeof url !== 'string') return null;
  return /\/clusters\/([^/]+)\/?$/.exec(url)?.[1] ?? null;
}
