/** A limit of a workspace and how much of it is used; from a WorkspaceUsage. */
export interface UsageLimit {
  readonly name: string;
  readonly used?: number;
  readonly max?: number;
  readonly annotation: string;
  readonly setBy: string;
}

const titles: Readonly<Record<string, string>> = {
  objects: 'Objects',
  bytes: 'Stored data',
  definitions: 'API definitions',
  schemaBytes: 'Schemas',
  watches: 'Watches',
  connections: 'Connections',
  requestsInFlight: 'Requests in flight',
  requestsPerSecond: 'Requests per second',
  celCostPerSecond: 'CEL cost per second',
};

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1536` is `1.5 KiB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const count = new Intl.NumberFormat('en');

export interface UsageMeter {
  readonly name: string;
  readonly title: string;
  readonly used: string;
  readonly max: string;
  /** Between 0 and 1; undefined without a limit. */
  readonly share: number | undefined;
  readonly tone: 'good' | 'warn' | 'bad';
  /** Who set the limit, and by which annotation of a Workspace it is changed. */
  readonly source: string;
}

/** What the page shows of a limit. */
export function usageMeter({ name, used = 0, max, annotation, setBy }: UsageLimit): UsageMeter {
  const text = (value: number): string =>
    name.toLowerCase().endsWith('bytes') ? bytesText(value) : count.format(value);
  const share = max === undefined ? undefined : max === 0 ? 1 : Math.min(1, used / max);
  return {
    name,
    title: titles[name] ?? name,
    used: text(used),
    max: max === undefined ? 'no limit' : text(max),
    share,
    tone: share === undefined || share < 0.75 ? 'good' : share < 0.95 ? 'warn' : 'bad',
    source: `Set by ${setBy}; the annotation ${annotation} of the Workspace changes it.`,
  };
}
