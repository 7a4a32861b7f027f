import type { Logger } from '../logging/logger.ts';
import type { Counter, MetricsRegistry } from '../metrics/metrics-registry.ts';

/** Kinds from whose objects a server derives state that requests of others depend on. */
export const faultKinds = [
  'CustomResourceDefinition',
  'APIResourceSchema',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'FlowSchema',
  'PriorityLevelConfiguration',
] as const;

/** One state of an API object. */
export interface FaultyObject {
  readonly kind: (typeof faultKinds)[number];
  readonly cluster: string;
  readonly name: string;
  /** Differs between states of the object that may derive differently. */
  readonly version: string;
}

export interface ObjectFaultsModules {
  readonly logger?: Logger | undefined;
  readonly registry?: MetricsRegistry | undefined;
}

/** Faults that are remembered; the least recently reported are forgotten, and may be logged again. */
const maxFaults = 1_024;

/**
 * The boundary around everything that is derived from a single API object for a whole workspace (served versions, discovery,
 * OpenAPI, compiled admission configuration). A failure is logged once for each state of the object and counted; callers go on with
 * the other objects. Validation refuses what is known to fail, so a fault is a bug of this program, or of an earlier version that
 * accepted the object.
 */
export class ObjectFaults {
  readonly #logger: Logger | undefined;
  readonly #count: Counter<'kind'> | undefined;
  readonly #known = new Map<string, { readonly version: string; readonly messages: readonly string[] }>();
  readonly #listeners = new Set<(object: FaultyObject) => void>();

  constructor(modules: ObjectFaultsModules) {
    this.#logger = modules.logger;
    this.#count = modules.registry?.counter({
      name: 'multiplane_object_faults_total',
      help: 'States of API objects that could not be evaluated; they are left out, and other objects are not affected.',
      labels: { kind: faultKinds },
    });
  }

  /** Returns what is derived from the object, or reports why that failed and returns `otherwise`. */
  isolate<T>(object: FaultyObject, derive: () => T, otherwise: (cause: unknown) => T): T {
    try {
      return derive();
    } catch (error) {
      this.report(object, error);
      return otherwise(error);
    }
  }

  report(object: FaultyObject, error: unknown): void {
    const key = keyOf(object);
    const message = error instanceof Error ? error.message : String(error);
    const known = this.#known.get(key);
    const messages = known?.version === object.version ? known.messages : [];
    if (messages.includes(message)) return;
    this.#known.delete(key);
    this.#known.set(key, { version: object.version, messages: [...messages, message].slice(-maxMessages) });
    if (this.#known.size > maxFaults) this.#known.delete(this.#known.keys().next().value as string);
    this.#count?.add(1, { kind: object.kind });
    const { kind, cluster, name } = object;
    this.#logger?.error('failed to evaluate an API object, other objects are not affected', {
      kind,
      cluster,
      name,
      error,
    });
    for (const listener of this.#listeners) listener(object);
  }

  /** Why parts of this state of the object are left out; empty: nothing failed so far. */
  of(object: FaultyObject): readonly string[] {
    const known = this.#known.get(keyOf(object));
    return known?.version === object.version ? known.messages : [];
  }

  /** Calls the listener for each fault when it is first found. It must neither block nor throw. */
  subscribe(listener: (object: FaultyObject) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** Of one state of an object. */
const maxMessages = 4;

const keyOf = ({ kind, cluster, name }: FaultyObject): string => `${kind}/${cluster}/${name}`;
