import { Quantity, type DeepReadonly } from '@multiplane/apimachinery';

/** What a workspace can be limited in, with the annotation that sets the limit. */
export const limitAnnotations = {
  /** Stored objects without events; the annotation is that of kcp after v0.32. */
  objects: 'core.kcp.io/max-total-objects',
  /** Bytes of everything stored. */
  bytes: 'limits.multiplane.dev/max-bytes',
  /** CustomResourceDefinitions and APIResourceSchemas. */
  definitions: 'limits.multiplane.dev/max-definitions',
  /** Their bytes. */
  schemaBytes: 'limits.multiplane.dev/max-schema-bytes',
  /** Open watches. */
  watches: 'limits.multiplane.dev/max-watches',
  /** Connections of clients that have an open request in the workspace, watches included. */
  connections: 'limits.multiplane.dev/max-connections',
  /** Other open requests. */
  requestsInFlight: 'limits.multiplane.dev/max-requests-in-flight',
  requestsPerSecond: 'limits.multiplane.dev/max-requests-per-second',
  /** Cost units of CEL expressions per second: of validation rules, policies and match conditions. */
  celCostPerSecond: 'limits.multiplane.dev/max-cel-cost-per-second',
} as const;

export type LimitName = keyof typeof limitAnnotations;
export const limitNames = Object.keys(limitAnnotations) as LimitName[];

/** On a LogicalCluster: what its parent and the parent's ancestors set, as JSON. Written by the system. */
export const inheritedLimitsAnnotation = 'internal.limits.multiplane.dev/inherited';
/** On a Workspace: the value of {@link inheritedLimitsAnnotation} that its LogicalCluster was given last. */
export const appliedLimitsAnnotation = 'internal.limits.multiplane.dev/applied';

/** A limit that was set somewhere; `max` 0 stands for "no limit", as in kcp. */
export interface LimitSetting {
  readonly max: number;
  /** Path of the workspace whose administrators can change it; absent: only those of the installation. */
  readonly by?: string;
}
export type LimitSettings = Readonly<Partial<Record<LimitName, LimitSetting>>>;

/** The limits of an installation for workspaces without a setting; 0: none. */
export type DefaultLimits = Readonly<Record<LimitName, number>>;

/** A limit in force; `max` is Infinity without one. */
export interface EffectiveLimit {
  readonly max: number;
  readonly by: string | undefined;
  /** No setting has it, so that the parent may set more. */
  readonly isDefault: boolean;
}
export type EffectiveLimits = Readonly<Record<LimitName, EffectiveLimit>>;

type Annotations = DeepReadonly<Record<string, string>> | undefined;

/**
 * The limit in an annotation: a whole number, or a quantity such as `2Gi`; 0 for none. For objects also a negative number,
 * which stands for none too, as in kcp. Throws an error with the reason.
 */
export function parseLimit(name: LimitName, text: string): number {
  const value = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : quantityOf(text);
  if (value === undefined || !Number.isSafeInteger(value))
    throw new Error(
      'must be a whole number or a quantity such as 500 or 2Gi, at most 9007199254740991; 0 for no limit',
    );
  if (value < 0 && name !== 'objects') throw new Error('must not be negative; 0 for no limit');
  return Math.max(0, value);
}

function quantityOf(text: string): number | undefined {
  // The syntax is bounded before it is parsed: exponents make long numbers.
  if (!/^\+?\d{1,15}(\.\d{1,3})?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)$/.test(text)) return undefined;
  const quantity = Quantity.parse(text);
  return quantity.isInteger ? quantity.toNumber() : undefined;
}

/** The limit that an object's annotation sets; undefined without one, or with one that {@link parseLimit} rejects. */
export function limitSetting(name: LimitName, annotations: Annotations): number | undefined {
  const text = annotations?.[limitAnnotations[name]];
  if (text === undefined) return undefined;
  try {
    return parseLimit(name, text);
  } catch {
    return undefined;
  }
}

/**
 * The limits in force in a logical cluster. The parent's settings are a ceiling for those on the LogicalCluster itself,
 * which only the administrators of the installation write; without either, the defaults apply. The root workspace and
 * system clusters have no defaults (`exempt`).
 */
export function effectiveLimits(annotations: Annotations, defaults: DefaultLimits, exempt: boolean): EffectiveLimits {
  const inherited = parseSettings(annotations?.[inheritedLimitsAnnotation]);
  return Object.fromEntries(
    limitNames.map((name) => [
      name,
      effectiveLimit(inherited[name], limitSetting(name, annotations), exempt ? 0 : defaults[name]),
    ]),
  ) as EffectiveLimits;
}

function effectiveLimit(
  inherited: LimitSetting | undefined,
  own: number | undefined,
  byDefault: number,
): EffectiveLimit {
  if (inherited === undefined && own === undefined) return { max: ceiling(byDefault), by: undefined, isDefault: true };
  const max = inherited === undefined ? Infinity : ceiling(inherited.max);
  return own !== undefined && ceiling(own) <= max
    ? { max: ceiling(own), by: undefined, isDefault: false }
    : { max, by: inherited?.by, isDefault: false };
}

const ceiling = (max: number): number => (max === 0 ? Infinity : max);

/**
 * What the logical cluster of a Workspace inherits: for each limit the lower of the Workspace's own setting and the limit in
 * force in its parent. A parent with a default limit passes it on as a ceiling only.
 */
export function inheritedLimits(
  parent: { readonly path: string; readonly limits: EffectiveLimits },
  workspace: Annotations,
): LimitSettings {
  const settings: Partial<Record<LimitName, LimitSetting>> = {};
  for (const name of limitNames) {
    const setting = limitSetting(name, workspace);
    const above = parent.limits[name];
    if (setting !== undefined && ceiling(setting) <= above.max) settings[name] = { max: setting, by: parent.path };
    else if (!above.isDefault)
      settings[name] = {
        max: above.max === Infinity ? 0 : above.max,
        ...(above.by === undefined ? {} : { by: above.by }),
      };
  }
  return settings;
}

/** The text of {@link inheritedLimitsAnnotation}; undefined if nothing is inherited. Equal settings have equal texts. */
export function formatSettings(settings: LimitSettings): string | undefined {
  const entries = limitNames.flatMap((name) => (settings[name] === undefined ? [] : [[name, settings[name]] as const]));
  return entries.length === 0 ? undefined : JSON.stringify(Object.fromEntries(entries));
}

/** Settings that the system wrote; a text of an unknown form has none. */
function parseSettings(text: string | undefined): LimitSettings {
  if (text === undefined) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return {};
  }
  if (typeof parsed !== 'object' || parsed === null) return {};
  const settings: Partial<Record<LimitName, LimitSetting>> = {};
  for (const name of limitNames) {
    const value = (Object.hasOwn(parsed, name) ? (parsed as Record<string, unknown>)[name] : undefined) as
      | { max?: unknown; by?: unknown }
      | null
      | undefined;
    if (typeof value !== 'object' || value === null || !Number.isSafeInteger(value.max) || (value.max as number) < 0)
      continue;
    settings[name] = { max: value.max as number, ...(typeof value.by === 'string' ? { by: value.by } : {}) };
  }
  return settings;
}
