import { hash } from 'node:crypto';
import {
  clusterAnnotation,
  FieldPath,
  getOwn,
  isLogicalClusterName,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  BearerTokenAuthenticator,
  CachedTokens,
  makeOidcAuthenticator,
  readJwtConfiguration,
  TokensByIssuer,
  validateJwt,
  type AuthenticationResponse,
  type Exchange,
  type IssuerAuthenticator,
  type OidcModules,
  type RequestAuthenticator,
  type RequestInfo,
} from '@multiplane/apiserver';
import type { InformerSource, Lister } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  authenticationConfigurations,
  parseQualifiedType,
  typeAnnotation,
  type AuthenticationConfigurationObject,
  type LogicalCluster,
  type WorkspaceTypes,
} from '@multiplane/controllers';
import { foreignIdentity } from './foreign-identity.ts';

export interface WorkspaceAuthenticationOptions {
  /** Audiences of this server: a token must be for one of them, too. */
  readonly audiences: readonly string[];
  /** Issuers that the server itself answers for. */
  readonly disallowedIssuers: readonly string[];
  /** Authenticators that are kept; what is used least goes first. */
  readonly maxAuthenticators?: number | undefined;
}

export interface WorkspaceAuthenticationModules extends Omit<OidcModules, 'clock'> {
  readonly clock: Clock;
  /** Of this shard and, replicated, of all others. */
  readonly globalInformers: InformerSource;
  readonly types: WorkspaceTypes;
  readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<LogicalCluster> | undefined;
}

/** Entries of all configurations of one type that count. */
const maxEntries = 64;
const acceptedMs = 10_000;

/**
 * Tokens of the issuers that the type of a workspace names (C7.6; gate WorkspaceAuthentication).
 *
 * Per request: logical cluster → its type → names of configurations, which live where the type lives → their objects →
 * authenticators. All but the last are reads of the shard's caches, so a change counts at once. Authenticators are kept
 * by what their configuration says, and made, with their keys fetched, when the first token of their issuer comes: a
 * workspace without such a type costs nothing, and a thousand of one type share one. An entry that cannot be used is
 * passed over; the others still count.
 */
export class WorkspaceAuthentication implements RequestAuthenticator {
  readonly #options: WorkspaceAuthenticationOptions;
  readonly #modules: WorkspaceAuthenticationModules;
  readonly #configurations: Lister<AuthenticationConfigurationObject>;
  readonly #ended = new AbortController();
  /** By the hash of their entry and where it lives; undefined: one that cannot be used. */
  readonly #authenticators = new Map<string, IssuerAuthenticator | undefined>();
  /** The same of whole objects, which are frozen and replaced when they change. */
  readonly #ofObject = new WeakMap<object, readonly IssuerAuthenticator[]>();

  constructor(options: WorkspaceAuthenticationOptions, modules: WorkspaceAuthenticationModules) {
    this.#options = options;
    this.#modules = modules;
    this.#configurations =
      modules.globalInformers.informer<AuthenticationConfigurationObject>(authenticationConfigurations);
  }

  /** Undefined where the workspace has no issuers of its own; throws for a token that none of them made. */
  async authenticate(exchange: Exchange, info: RequestInfo): Promise<AuthenticationResponse | undefined> {
    const { cluster } = info;
    if (cluster === undefined || cluster === '*') return undefined;
    const authenticators = this.#authenticatorsOf(cluster);
    if (authenticators.length === 0) return undefined;
    const bearer = new BearerTokenAuthenticator(
      { audiences: this.#options.audiences },
      { tokens: new TokensByIssuer({ current: () => authenticators }) },
    );
    const response = await bearer.authenticate(exchange);
    return response === undefined ? undefined : { ...response, user: foreignIdentity(response.user, cluster) };
  }

  close(): void {
    this.#ended.abort(new Error('the server stops'));
  }

  #authenticatorsOf(cluster: LogicalClusterName): readonly IssuerAuthenticator[] {
    const { logicalCluster, types } = this.#modules;
    const named = parseQualifiedType(logicalCluster(cluster)?.metadata.annotations?.[typeAnnotation] ?? '');
    const type = named === undefined ? undefined : types.byPathAndName(named.path, named.name);
    const names = type?.spec?.authenticationConfigurations ?? [];
    if (names.length === 0) return [];
    const home = type?.metadata.annotations?.[clusterAnnotation] ?? '';
    if (!isLogicalClusterName(home)) return [];
    return names
      .slice(0, maxEntries)
      .flatMap(({ name }) => {
        const object = this.#configurations.get({ cluster: home, namespace: '', name });
        return object === undefined ? [] : this.#ofConfiguration(home, object);
      })
      .slice(0, maxEntries);
  }

  #ofConfiguration(
    home: LogicalClusterName,
    object: DeepReadonly<AuthenticationConfigurationObject>,
  ): readonly IssuerAuthenticator[] {
    let known = this.#ofObject.get(object);
    if (known === undefined) {
      const entries = getOwn(object.spec ?? {}, 'jwt');
      known = (Array.isArray(entries) ? entries : [])
        .slice(0, maxEntries)
        .flatMap((entry: Json) => this.#ofEntry(home, entry) ?? []);
      this.#ofObject.set(object, known);
    }
    return known;
  }

  #ofEntry(home: LogicalClusterName, entry: Json): IssuerAuthenticator | undefined {
    const key = hash('sha256', JSON.stringify([home, entry]), 'base64');
    const made = this.#authenticators.has(key) ? this.#authenticators.get(key) : this.#make(home, entry);
    this.#authenticators.delete(key);
    this.#authenticators.set(key, made);
    if (this.#authenticators.size > (this.#options.maxAuthenticators ?? 4096))
      this.#authenticators.delete(this.#authenticators.keys().next().value as string);
    return made;
  }

  #make(home: LogicalClusterName, entry: Json): IssuerAuthenticator | undefined {
    const { disallowedIssuers } = this.#options;
    const { expressions, clock } = this.#modules;
    const configuration = readJwtConfiguration(entry);
    const { errors, compiled } = validateJwt(configuration, FieldPath.of('jwt'), { expressions, disallowedIssuers });
    if (errors.length > 0) return undefined;
    const delegate = makeOidcAuthenticator(
      { configuration, compiled, tenant: home, signal: this.#ended.signal, checksAudiences: true },
      this.#modules,
    );
    return {
      issuer: configuration.issuer.url,
      authenticator: new CachedTokens({ acceptedMs, refusedMs: 0 }, { delegate, clock }),
    };
  }
}
