import { OptionError } from './parse-value.ts';

export interface FeatureSpec {
  readonly default: boolean;
  readonly stage: 'alpha' | 'beta' | 'ga' | 'deprecated';
  /** Other names of the gate, which count unless its own name is given. */
  readonly aliases?: readonly string[];
}

/** The enabled features of a server, from `--feature-gates`. */
export class FeatureGates<Name extends string> {
  readonly #known: Readonly<Record<Name, FeatureSpec>>;
  readonly #set: ReadonlyMap<string, boolean>;
  /** Unknown gates: reported but accepted, because servers of several versions get the same flags. */
  readonly unknown: readonly string[];

  /** `given` is the value of the flag: `{ CacheAPIs: 'true' }`; `AllAlpha` and `AllBeta` set all gates of a stage. */
  constructor(known: Readonly<Record<Name, FeatureSpec>>, given: Readonly<Record<string, string>>) {
    this.#known = known;
    const set = new Map<string, boolean>();
    for (const [name, text] of Object.entries(given)) {
      if (!/^(true|false)$/i.test(text)) {
        throw new OptionError(`invalid value of ${name}=${text} for --feature-gates: must be true or false`);
      }
      set.set(name, text.toLowerCase() === 'true');
    }
    for (const [name, { aliases = [] }] of Object.entries<FeatureSpec>(known))
      for (const alias of aliases) {
        const value = set.get(alias);
        if (value !== undefined && !set.has(name)) set.set(name, value);
        set.delete(alias);
      }
    this.#set = set;
    this.unknown = [...set.keys()].filter((name) => !Object.hasOwn(known, name) && !stageGates.has(name));
  }

  enabled(name: Name): boolean {
    const spec = this.#known[name];
    const ofStage = [...stageGates.keys()].find((gate) => stageGates.get(gate) === spec.stage);
    return this.#set.get(name) ?? (ofStage === undefined ? undefined : this.#set.get(ofStage)) ?? spec.default;
  }

  /** Every known gate with its stage and state, for the metric `kubernetes_feature_enabled`. */
  list(): { name: Name; stage: FeatureSpec['stage']; enabled: boolean }[] {
    return (Object.keys(this.#known) as Name[]).map((name) => ({
      name,
      stage: this.#known[name].stage,
      enabled: this.enabled(name),
    }));
  }
}

/**
 * CachedResources and virtual storage; of shards and of virtual workspaces. kcp's documentation of CachedResources calls the gate
 * CachedAPIs.
 */
export const cacheApisGate = { default: true, stage: 'beta', aliases: ['CachedAPIs'] } as const satisfies FeatureSpec;

/** Kubernetes' gates for all features of a stage. */
const stageGates = new Map<string, FeatureSpec['stage']>([
  ['AllAlpha', 'alpha'],
  ['AllBeta', 'beta'],
]);
