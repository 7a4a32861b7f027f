import { isJsonObject, parseJson, statusErrors, type Json } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';

/** The user of a session, as the API server knows it. */
export interface ConsoleUser {
  readonly name: string;
  readonly groups: readonly string[];
}

const reviewPath = '/clusters/root/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

/**
 * Asks the API server whose credential this is; only it decides. Resolves to undefined when it refuses the credential. Rejects
 * with a StatusError 503 when it does not answer.
 */
export async function lookUpUser(server: ApiServer, credential: Credential): Promise<ConsoleUser | undefined> {
  let response;
  try {
    response = await apiRequest(server, credential, { method: 'POST', path: reviewPath, body: review });
  } catch (cause) {
    throw Object.assign(statusErrors.serviceUnavailable('the API server does not answer', 1), { cause });
  }
  if (response.status === 401) return undefined;
  const user = response.status === 201 ? userOf(parseJson(response.text)) : undefined;
  if (user === undefined)
    throw statusErrors.serviceUnavailable(`the API server answered a review of the user with ${response.status}`, 1);
  return user.name === 'system:anonymous' ? undefined : user;
}

function userOf(value: Json): ConsoleUser | undefined {
  const status = isJsonObject(value) ? value['status'] : undefined;
  const info = status !== undefined && isJsonObject(status) ? status['userInfo'] : undefined;
  if (info === undefined || !isJsonObject(info) || typeof info['username'] !== 'string') return undefined;
  const groups = info['groups'];
  return {
    name: info['username'],
    groups: Array.isArray(groups) ? groups.filter((group) => typeof group === 'string') : [],
  };
}
