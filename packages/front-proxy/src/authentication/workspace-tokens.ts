import { hash } from 'node:crypto';
import { isJsonObject, statusErrors, type Json, type UserInfo } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  bearerToken,
  reviewedUser,
  SharedLookupCache,
  type Exchange,
  type Precondition,
} from '@multiplane/generic-server';

const ttlMs = 10_000;
const maxEntries = 4_096;

export interface WorkspaceTokensModules {
  /** To the shard of a logical cluster; undefined if it is not known. */
  readonly transportOf: (cluster: string) => Pick<RestTransport, 'json'> | undefined;
  readonly clock: Clock;
}

/**
 * Authenticates tokens for servers other than shards. Workspace types may have issuers, which only shards know
 * (docs/adr/0054), so the shard of the logical cluster reviews the token there; the user is limited to this logical cluster.
 * Results are cached for 10 s by a hash of the token.
 */
export class WorkspaceTokens {
  readonly #modules: WorkspaceTokensModules;
  readonly #reviews: SharedLookupCache<UserInfo | undefined>;

  constructor(modules: WorkspaceTokensModules) {
    this.#modules = modules;
    this.#reviews = new SharedLookupCache({ maxEntries }, modules);
  }

  /**
   * Undefined without a bearer token, and for one that is not valid in the logical cluster. Throws StatusError 503 while the shard
   * does not answer.
   */
  async authenticate(
    { headers }: Pick<Exchange, 'headers'>,
    cluster: string,
  ): Promise<{ readonly user: UserInfo; readonly precondition: Precondition } | undefined> {
    const { authorization } = headers;
    const token = typeof authorization === 'string' ? bearerToken(authorization) : undefined;
    if (token === undefined) return undefined;
    const key = hash('sha256', JSON.stringify([cluster, token]), 'base64');
    const find = (): Promise<UserInfo | undefined> =>
      this.#reviews.get(key, async () => ({ value: await this.#review(cluster, token), ttlMs }));
    const user = await find();
    if (user === undefined) return undefined;
    const holds = (): Promise<boolean> =>
      find().then(
        (now) => JSON.stringify(now) === JSON.stringify(user),
        () => true,
      );
    return { user, precondition: { kind: 'credential', key: `token ${key}`, holds } };
  }

  async #review(cluster: string, token: string): Promise<UserInfo | undefined> {
    const transport = this.#modules.transportOf(cluster);
    if (transport === undefined)
      throw statusErrors.serviceUnavailable('the shard of the workspace is not known yet', 1);
    let answer: Json;
    try {
      answer = await transport.json({
        method: 'POST',
        path: `/clusters/${cluster}/apis/authentication.k8s.io/v1/tokenreviews`,
        body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }),
      });
    } catch {
      // The reason may tell of the topology.
      throw statusErrors.serviceUnavailable('the token could not be reviewed', 1);
    }
    const status = isJsonObject(answer) ? answer['status'] : undefined;
    if (status === undefined || !isJsonObject(status) || status['authenticated'] !== true) return undefined;
    const user = reviewedUser(status);
    return user.name === '' ? undefined : user;
  }
}
