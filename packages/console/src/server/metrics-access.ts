import { isJsonObject, parseJson } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';

const path = '/clusters/root/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const body = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { nonResourceAttributes: { verb: 'get', path: '/metrics' } },
};

/**
 * Whether the holder of a token may read metrics: `get` on `/metrics` in the RBAC of `root`, as for the other servers. The holder
 * asks, not the console, which could not. Rejects when the API server does not answer.
 */
export async function mayReadMetrics(server: ApiServer, token: string): Promise<boolean> {
  const { status, text } = await apiRequest(server, { kind: 'token', token }, { method: 'POST', path, body });
  if (status !== 201) return false;
  const review = parseJson(text);
  const answer = isJsonObject(review) ? (review['status'] ?? null) : null;
  return isJsonObject(answer) && answer['allowed'] === true;
}
