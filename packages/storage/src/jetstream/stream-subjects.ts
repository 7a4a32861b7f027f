import { cachePrefix, parseCacheKey } from '../cache-keys.ts';
import { ValueTooLargeError } from '../errors.ts';

/** Stands for a namespace that is empty; no namespace contains it. */
const emptyToken = '=';
/** First token of keys that are not of replicated objects; no shard is called so. */
const plainToken = '=key';
/** What a NATS server takes in one protocol line, less its other parts. */
const maxSubjectLength = 3800;

/**
 * Between keys and subjects (architecture, "The way of a replicated object"):
 *
 *   /cache/<group>/<resource>/<identity>/<shard>/<cluster>/[<namespace>/]<name>
 *   <prefix>.<shard>.<group>.<resource>.<identity>.<cluster>.<namespace|=>.<name>
 *
 * so that one shard, and one resource of all shards, is one filter. Other keys keep their order behind `=key`. Each token
 * is escaped (`=2E` for a dot, byte by byte): Kubernetes names contain dots, and dots, blanks, `*` and `>` mean something in a
 * subject. The escaping loses nothing, so a subject is enough to know the key.
 */
export class StreamSubjects {
  readonly #prefix: string;
  /** Everything in the stream. */
  readonly all: string;
  /** Where the stream keeps what it has forgotten; no key has it. */
  readonly floor: string;

  constructor(prefix: string) {
    this.#prefix = `${prefix}.`;
    this.all = `${prefix}.>`;
    this.floor = `${prefix}.=floor`;
  }

  /** Throws a TypeError for a key below `/cache/` that is none of a replicated object, ValueTooLargeError for one too long. */
  encode(key: string): string {
    const parts = parseCacheKey(key);
    if (parts === undefined && key.startsWith(cachePrefix))
      throw new TypeError(`not a key of a replicated object: ${key}`);
    const tokens =
      parts === undefined
        ? [plainToken, ...key.split('/').map(escape)]
        : [
            parts.shard,
            parts.group === '' ? 'core' : parts.group,
            parts.resource,
            parts.identity,
            parts.cluster,
            parts.namespace,
            parts.name,
          ].map(escape);
    const subject = this.#prefix + tokens.join('.');
    if (subject.length > maxSubjectLength) throw new ValueTooLargeError(key, 'the key is too long for a subject');
    return subject;
  }

  /** The key of a subject; undefined for what the stream keeps for itself. */
  decode(subject: string): string | undefined {
    if (subject === this.floor || !subject.startsWith(this.#prefix)) return undefined;
    const tokens = subject.slice(this.#prefix.length).split('.');
    if (tokens[0] === plainToken) return tokens.slice(1).map(unescape).join('/');
    if (tokens.length !== 7) return undefined;
    const [shard, group, resource, identity, cluster, namespace, name] = tokens.map(unescape) as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const inner = namespace === '' ? '' : `${namespace}/`;
    return `${cachePrefix}${group}/${resource}/${identity}/${shard}/${cluster}/${inner}${name}`;
  }

  /** A filter that covers everything below a key prefix, and perhaps more. */
  filter(prefix: string): string {
    const segments = prefix.split('/').slice(0, -1);
    if (!prefix.startsWith(cachePrefix)) {
      return `${this.#prefix}${[plainToken, ...segments.map(escape)].join('.')}.>`;
    }
    const [group = '*', resource = '*', identity = '*', shard = '*', cluster] = segments.slice(2).map(escape);
    const tokens = [shard, group, resource, identity, ...(cluster === undefined ? [] : [cluster])];
    while (tokens.at(-1) === '*') tokens.pop();
    return `${this.#prefix}${[...tokens, '>'].join('.')}`;
  }
}

const harmless = /^[A-Za-z0-9_:-]+$/;
const harmful = /[^A-Za-z0-9_:-]/gu;

function escape(text: string): string {
  if (harmless.test(text)) return text;
  if (text === '') return emptyToken;
  return text.replaceAll(harmful, (char) => {
    let escaped = '';
    for (const byte of Buffer.from(char)) escaped += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    return escaped;
  });
}

function unescape(token: string): string {
  if (token === emptyToken) return '';
  if (!token.includes('=')) return token;
  return decodeURIComponent(token.replaceAll('=', '%'));
}
