import { apiVersionOf, type GroupVersionKind } from '@multiplane/apimachinery';
import type { PatchMeta } from '@multiplane/schema';
import type { NativeKind } from '../resource-definition.ts';
import { fieldFactsOf, protobufMessageName, type FieldFacts } from '../schemas/protobuf-messages.ts';

/** What Kubernetes knows of a kind that a definition brings back; undefined for a kind that is none of its own. */
export function nativeKindOf(kind: GroupVersionKind): NativeKind | undefined {
  const message = protobufMessageName(apiVersionOf(kind), kind.kind);
  return message === undefined ? undefined : { patchMeta: messageMeta(message) };
}

const noStrategies: readonly string[] = [];
const metas = new Map<string, PatchMeta>();

/** How patches merge the fields of a message; made when first needed. */
function messageMeta(message: string): PatchMeta {
  let meta = metas.get(message);
  if (meta === undefined) {
    meta = new MessagePatchMeta(message, undefined);
    metas.set(message, meta);
  }
  return meta;
}

/** A place in the objects of a kind: a message, or a field that holds one, or a list of them. */
class MessagePatchMeta implements PatchMeta {
  readonly strategies: readonly string[];
  readonly mergeKey: string | undefined;
  readonly #message: string;
  /** Of the message's fields, built lazily. */
  #fields: ReadonlyMap<string, PatchMeta> | undefined;

  constructor(message: string, facts: FieldFacts | undefined) {
    this.#message = message;
    this.mergeKey = facts?.mergeKey === '' ? undefined : facts?.mergeKey;
    const strategies = [
      ...(facts?.mergeKey === undefined ? [] : ['merge']),
      ...(facts?.retainKeys === true ? ['retainKeys'] : []),
    ];
    this.strategies = strategies.length === 0 ? noStrategies : strategies;
  }

  field(name: string): PatchMeta | undefined {
    this.#fields ??= new Map(fieldsOf(this.#message));
    return this.#fields.get(name);
  }
}

/** The fields of a message by their names, those of inlined messages among them. */
function* fieldsOf(message: string): Generator<readonly [string, PatchMeta]> {
  for (const facts of fieldFactsOf(message)) {
    if (facts.shape === 'inlined') yield* fieldsOf(facts.type);
    // The values of a map have no places of their own.
    else yield [facts.name, new MessagePatchMeta(facts.shape === 'map' ? '' : facts.type, facts)];
  }
}
