import { parseYaml } from '@multiplane/apimachinery';
import { ConfigurationDocument, ConfigurationError } from '@multiplane/component-base';
import { CbcTransformer, GcmTransformer } from './aes-transformers.ts';
import { SecretboxTransformer } from './secretbox-transformer.ts';
import {
  identityTransformer,
  type PrefixedTransformer,
  PrefixTransformer,
  type ValueTransformer,
} from './value-transformer.ts';

interface KeysDocument {
  readonly keys?: readonly { readonly name?: string; readonly secret?: string }[];
}

/** A `kms` provider of the file. */
export interface KmsProvider {
  readonly apiVersion?: string;
  readonly name?: string;
  readonly endpoint?: string;
  /** A Go duration; 3 s. */
  readonly timeout?: string;
  readonly cachesize?: number;
}

interface ProviderDocument {
  readonly aesgcm?: KeysDocument;
  readonly aescbc?: KeysDocument;
  readonly secretbox?: KeysDocument;
  readonly identity?: object;
  readonly kms?: KmsProvider;
}

interface EncryptionDocument {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly resources?: readonly {
    readonly resources?: readonly string[];
    readonly providers?: readonly ProviderDocument[];
  }[];
}

const keys = {
  type: 'object',
  additionalProperties: false,
  properties: {
    keys: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        properties: { name: { type: 'string' }, secret: { type: 'string' } },
      },
    },
  },
};
const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    resources: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        properties: {
          resources: { type: 'array', items: { type: 'string' } },
          providers: {
            type: 'array',
            items: {
              type: 'object',
              additionalProperties: false,
              properties: {
                aesgcm: keys,
                aescbc: keys,
                secretbox: keys,
                identity: { type: 'object' },
                kms: {
                  type: 'object',
                  additionalProperties: false,
                  properties: {
                    apiVersion: { type: 'string' },
                    name: { type: 'string' },
                    endpoint: { type: 'string' },
                    timeout: { type: 'string' },
                    cachesize: { type: 'integer' },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};

const document = new ConfigurationDocument<EncryptionDocument>({ schema }, { decode: parseYaml });

export interface EncryptionConfigurationModules {
  /** Connects a KMS plugin; throws for an unusable provider. */
  readonly kms: (provider: KmsProvider) => ValueTransformer;
}

/** The transformers of an EncryptionConfiguration by resource: `secrets`, `widgets.example.dev`, `*.apps`, `*.`, `*.*`. */
export class ResourceTransformers {
  readonly #byResource: ReadonlyMap<string, ValueTransformer>;
  constructor(byResource: ReadonlyMap<string, ValueTransformer>) {
    this.#byResource = byResource;
  }

  /** That of the resource, else of its group, else of all; else values are stored as they are. */
  of(group: string, resource: string): ValueTransformer {
    const found = this.#byResource;
    return (
      found.get(nameOf(group, resource)) ?? found.get(nameOf(group, '*')) ?? found.get('*.*') ?? identityTransformer
    );
  }
}

/** `*.` is the core group; a plain name is a resource of it. */
const nameOf = (group: string, resource: string): string =>
  resource === '*' ? `*.${group}` : group === '' ? resource : `${resource}.${group}`;

/**
 * Reads an EncryptionConfiguration of `apiserver.config.k8s.io/v1` (or `kind: EncryptionConfig`, `apiVersion: v1` of old
 * files). Throws ConfigurationError with every problem; secrets never appear in it.
 */
export function parseEncryptionConfiguration(
  text: string,
  file: string,
  modules: EncryptionConfigurationModules,
): ResourceTransformers {
  const { apiVersion, kind, resources = [] } = document.parse(text, file);
  if (kind !== 'EncryptionConfiguration' || apiVersion !== 'apiserver.config.k8s.io/v1')
    throw new ConfigurationError(file, [
      `no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}; it must be EncryptionConfiguration of apiserver.config.k8s.io/v1`,
    ]);
  const problems: string[] = [];
  if (resources.length === 0) problems.push('resources: Required value: at least one resources is required');
  const byResource = new Map<string, PrefixedTransformer[]>();
  const kmsNames = new Set<string>();
  for (const [i, entry] of resources.entries()) {
    const at = `resources[${i}]`;
    const names = (entry.resources ?? []).map(normalized);
    if (names.length === 0) problems.push(`${at}.resources: Required value: at least one resources is required`);
    if (entry.providers === undefined || entry.providers.length === 0)
      problems.push(`${at}.providers: Required value: at least one providers is required`);
    problems.push(...resourceProblems(entry.resources ?? [], `${at}.resources`, byResource));
    const providers: PrefixedTransformer[] = [];
    for (const [j, provider] of (entry.providers ?? []).entries()) {
      try {
        providers.push(transformerOf(provider, kmsNames, modules));
      } catch (error) {
        problems.push(`${at}.providers[${j}]: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    for (const name of names) byResource.set(name, [...(byResource.get(name) ?? []), ...providers]);
  }
  if (problems.length > 0) throw new ConfigurationError(file, problems);
  return new ResourceTransformers(
    new Map([...byResource].map(([name, providers]) => [name, new PrefixTransformer(providers)])),
  );
}

/** `secrets.` is `secrets`. */
const normalized = (name: string): string => (name.endsWith('.') && !name.startsWith('*') ? name.slice(0, -1) : name);

/** `group` of `resource.group`; empty for the core group. */
const groupOf = (name: string): string => (name.includes('.') ? name.slice(name.indexOf('.') + 1) : '');

function resourceProblems(names: readonly string[], at: string, earlier: ReadonlyMap<string, unknown>): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const [i, given] of names.entries()) {
    const name = normalized(given);
    const problem = (why: string): void =>
      void problems.push(`${at}[${i}]: Invalid value: ${JSON.stringify(given)}: ${why}`);
    const group = groupOf(name);
    if (name !== name.toLowerCase()) problem('resource name should not contain capital letters');
    if (name === '*')
      problem("use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources");
    if (name.includes('*') && name !== '*.*' && !/^\*\.[^*]*$/.test(name) && name !== '*')
      problem('encrypting the same resource across groups is not supported');
    if (group === 'events.k8s.io')
      problem(
        "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
      );
    if (group === 'extensions') problem("'extensions' group has been removed and cannot be used for encryption");
    if (seen.has(name)) problem('the same resource cannot be specified multiple times');
    seen.add(name);
    const wildcard = `*.${group}`;
    if (name !== wildcard && (earlier.has(wildcard) || earlier.has('*.*')))
      problem(`masked by earlier rule ${JSON.stringify(earlier.has(wildcard) ? wildcard : '*.*')}`);
    else if (name !== '*.*' && earlier.has('*.*')) problem('masked by earlier rule "*.*"');
  }
  const overlaps = [...seen].some(
    (name) => (name !== '*.*' && seen.has('*.*')) || (name !== `*.${groupOf(name)}` && seen.has(`*.${groupOf(name)}`)),
  );
  if (overlaps)
    problems.push(
      `${at}: Invalid value: using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked`,
    );
  return problems;
}

function transformerOf(
  provider: ProviderDocument,
  kmsNames: Set<string>,
  { kms }: EncryptionConfigurationModules,
): PrefixedTransformer {
  const [name, second] = Object.keys(provider);
  if (name === undefined)
    throw new Error(
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
    );
  if (second !== undefined)
    throw new Error('more than one provider specified in a single element, should split into different list elements');
  if (provider.identity !== undefined) return { prefix: '', transformer: identityTransformer };
  if (provider.kms !== undefined) {
    const kmsName = provider.kms.name ?? '';
    if (kmsName === '') throw new Error('name: Required value: name is a mandatory field for a provider');
    if (kmsName.includes(':')) throw new Error(`invalid KMS provider name ${kmsName}, must not contain ':'`);
    if (kmsNames.has(kmsName)) throw new Error(`duplicate KMS provider name ${kmsName}, names must be unique`);
    kmsNames.add(kmsName);
    return { prefix: `k8s:enc:kms:v2:${kmsName}:`, transformer: kms(provider.kms) };
  }
  const make = {
    aesgcm: (key: Buffer): ValueTransformer => new GcmTransformer(key),
    aescbc: (key: Buffer): ValueTransformer => new CbcTransformer(key),
    secretbox: (key: Buffer): ValueTransformer => new SecretboxTransformer(key),
  }[name as 'aesgcm' | 'aescbc' | 'secretbox'];
  const document = (provider.aesgcm ?? provider.aescbc ?? provider.secretbox) as KeysDocument;
  const sizes = name === 'secretbox' ? [32] : [16, 24, 32];
  return { prefix: `k8s:enc:${name}:v1:`, transformer: keyTransformers(document, sizes, make) };
}

function keyTransformers(
  { keys: given = [] }: KeysDocument,
  sizes: readonly number[],
  make: (key: Buffer) => ValueTransformer,
): ValueTransformer {
  if (given.length === 0) throw new Error('keys: Required value: at least one keys is required');
  const names = new Set<string>();
  const transformers = given.map(({ name = '', secret = '' }, i): PrefixedTransformer => {
    const at = `keys[${i}]`;
    if (name === '') throw new Error(`${at}.name: Required value: name is a mandatory field for a key`);
    if (names.has(name)) throw new Error(`${at}.name: duplicate key name ${name}`);
    names.add(name);
    if (secret === '') throw new Error(`${at}.secret: Required value: secret is a mandatory field for a key`);
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(secret)) throw new Error(`${at}.secret: secrets must be base64 encoded`);
    const key = Buffer.from(secret, 'base64');
    if (!sizes.includes(key.length))
      throw new Error(
        `${at}.secret: secret is not of the expected length, got ${key.length}, expected one of [${sizes.join(' ')}]`,
      );
    return { prefix: `${name}:`, transformer: make(key) };
  });
  return new PrefixTransformer(transformers, 'no matching key was found for the provided transformer');
}
