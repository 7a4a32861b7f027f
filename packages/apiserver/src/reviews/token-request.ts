import {
  fieldErrors,
  gvkText,
  parseApiVersion,
  statusErrors,
  type FieldError,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { BoundObject, ServiceAccountGetter, ServiceAccountTokens } from '@multiplane/generic-server';
import type { CreateHandler } from '../endpoints/create-handler.ts';

const minSeconds = 10 * 60;
const maxSeconds = 2 ** 32;
const defaultSeconds = 60 * 60;
const tokenRequestKind = { group: 'authentication.k8s.io', kind: 'TokenRequest' };

interface TokenRequestSpec {
  audiences?: string[] | null;
  expirationSeconds?: number | null;
  boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string } | null;
}

interface TokenRequestOptions {
  /** Longest lifetime of a token in seconds; a longer request is shortened with a warning. Undefined: no limit. */
  readonly maxExpirationSeconds?: number | undefined;
  readonly now: () => number;
}

/** `POST …/serviceaccounts/<name>/token` (pkg/registry/core/serviceaccount/storage/token.go in Kubernetes). */
export function tokenRequest(
  options: TokenRequestOptions,
  modules: { readonly tokens: ServiceAccountTokens; readonly getter: ServiceAccountGetter },
): CreateHandler {
  return async ({ context, cluster, namespace, name, object, dryRun, admit }) => {
    const { metadata } = object;
    if (metadata.namespace !== undefined && metadata.namespace !== '' && metadata.namespace !== namespace) {
      throw statusErrors.badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    }
    if (metadata.name !== undefined && metadata.name !== '' && metadata.name !== name) {
      throw statusErrors.invalid(tokenRequestKind, name, [
        fieldErrors.invalid('metadata.name', metadata.name, 'must match the service account name if specified'),
      ]);
    }
    const account = modules.getter.serviceAccount(cluster, namespace, name);
    if (account === undefined) throw statusErrors.notFound({ group: '', resource: 'serviceaccounts' }, name);
    const uid = account.metadata.uid ?? '';
    if (metadata.uid !== undefined && metadata.uid !== '' && metadata.uid !== uid) {
      throw statusErrors.conflict(
        { group: tokenRequestKind.group, resource: tokenRequestKind.kind },
        name,
        `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`,
      );
    }
    const spec = (object['spec'] ?? {}) as TokenRequestSpec;
    const wanted = spec.expirationSeconds ?? defaultSeconds;
    const errors = [...validate(wanted), ...validateAudiences(spec.audiences ?? [])];
    if (errors.length > 0) throw statusErrors.invalid(tokenRequestKind, '', errors);
    const audiences =
      (spec.audiences ?? []).length > 0 ? (spec.audiences as string[]) : modules.tokens.defaultAudiences;
    // Admission sees the defaulted request.
    Object.assign(metadata, { name, namespace, uid });
    object['spec'] = { ...spec, audiences: [...audiences] };
    await admit();
    const boundObject = bind(spec.boundObjectRef ?? undefined, cluster, namespace, modules.getter);
    let seconds = wanted;
    if (options.maxExpirationSeconds !== undefined && seconds > options.maxExpirationSeconds) {
      seconds = options.maxExpirationSeconds;
      context.warn(`requested expiration of ${wanted} seconds shortened to ${seconds} seconds`);
    }
    const issued = dryRun
      ? { token: undefined, expires: Math.floor(options.now() / 1000) + seconds }
      : await modules.tokens.issue({
          cluster,
          namespace,
          serviceAccount: { name, uid },
          audiences,
          expirationSeconds: seconds,
          boundObject,
        });
    return {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, uid, creationTimestamp: timestamp(options.now()) },
      spec: { audiences: [...audiences], expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
      status: {
        ...(issued.token === undefined ? {} : { token: issued.token }),
        expirationTimestamp: timestamp(issued.expires * 1000),
      },
    };
  };
}

function validate(seconds: number): FieldError[] {
  if (seconds < minSeconds)
    return [fieldErrors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes')];
  if (seconds > maxSeconds)
    return [
      fieldErrors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    ];
  return [];
}

/** A longer token fits into no header, and signing one of megabytes takes the event loop 40 ms. */
const maxAudienceBytes = 64 * 1024;

function validateAudiences(audiences: readonly string[]): FieldError[] {
  const bytes = audiences.reduce((sum, audience) => sum + Buffer.byteLength(audience), 0);
  return bytes + audiences.length > maxAudienceBytes ? [fieldErrors.tooLong('spec.audiences', maxAudienceBytes)] : [];
}

/**
 * Resolves the bound object. Pods and nodes are not served here, so references to them are not found; other kinds are
 * rejected.
 */
function bind(
  reference: NonNullable<TokenRequestSpec['boundObjectRef']> | undefined,
  cluster: LogicalClusterName,
  namespace: string,
  getter: ServiceAccountGetter,
): BoundObject | undefined {
  if (reference === undefined) return undefined;
  const { kind = '', apiVersion = '', name = '', uid = '' } = reference;
  const gv = parseApiVersion(apiVersion) ?? { group: '', version: '' };
  // The version does not matter.
  if (gv.group !== '' || !['Secret', 'Pod', 'Node'].includes(kind))
    throw statusErrors.badRequest(`cannot bind token to object of type ${gvkText({ ...gv, kind })}`);
  if (name === '') throw statusErrors.badRequest('Name parameter required.');
  const found = kind === 'Secret' ? getter.secret(cluster, namespace, name) : undefined;
  if (found === undefined) throw statusErrors.notFound({ group: '', resource: `${kind.toLowerCase()}s` }, name);
  const actual = found.metadata.uid ?? '';
  if (uid !== '' && uid !== actual) {
    throw statusErrors.conflict(
      { group: '', resource: 'Secret' },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  return { kind: 'Secret', name, uid: actual };
}

const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');
