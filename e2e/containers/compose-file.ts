import { readFileSync } from 'node:fs';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';

/** A service of a compose file, as far as this repository's file goes. */
export interface ComposeService {
  readonly profiles: readonly string[];
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly restart?: string;
  readonly logging?: { readonly driver: string };
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly ComposeMount[];
  readonly healthcheck?: ComposeHealthCheck;
  readonly depends_on?: Readonly<
    Record<string, { readonly condition: 'service_healthy' | 'service_completed_successfully' }>
  >;
}

export interface ComposeMount {
  readonly type: 'volume' | 'bind';
  readonly source: string;
  readonly target: string;
  readonly read_only?: boolean;
  readonly volume?: { readonly subpath: string };
}

export interface ComposeHealthCheck {
  readonly test: readonly string[];
  readonly interval: string;
  readonly timeout: string;
  readonly retries?: number;
  readonly start_period?: string;
  readonly start_interval?: string;
}

export interface ComposeFile {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, { readonly name: string }>>;
}

/** Every key that {@link ComposeService} has. */
const known = new Set(
  (
    'profiles image build entrypoint command user read_only cap_drop security_opt tmpfs restart logging ' +
    'stop_grace_period ports environment volumes healthcheck depends_on'
  ).split(' '),
);

/** The services of some profiles with their variables replaced. Throws for keys that no one here would act on. */
export function readComposeFile(
  path: string,
  profiles: readonly string[],
  variables: Readonly<Record<string, string>>,
): ComposeFile {
  const file = parseYaml(readFileSync(path, 'utf8')) as unknown as ComposeFile;
  const chosen = Object.entries(file.services).filter(([, service]) =>
    service.profiles.some((profile) => profiles.includes(profile)),
  );
  const unknown = chosen.flatMap(([name, service]) =>
    Object.keys(service).flatMap((key) => (known.has(key) ? [] : [`${name}.${key}`])),
  );
  if (unknown.length > 0)
    throw new Error(`the compose file has keys that its runner does not know: ${unknown.join(', ')}`);
  return { ...file, services: replaced(Object.fromEntries(chosen), variables) };
}

/** Replaces `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `$$` in every text (compose-spec, "Interpolation"). */
function replaced<T>(value: T, variables: Readonly<Record<string, string>>): T {
  if (typeof value === 'string') return interpolated(value, variables) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => replaced(item, variables)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member, variables)])) as T;
}

export function interpolated(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\$(?:(\$)|\{(\w+)(?::([-?])([^}]*))?\})/g,
    (_match, dollar?: string, name: string = '', kind?: string, otherwise: string = ''): string => {
      if (dollar !== undefined) return '$';
      const value = variables[name] ?? '';
      if (value !== '') return value;
      if (kind === '?') throw new Error(`required variable ${name} is missing a value: ${otherwise}`);
      return kind === '-' ? otherwise : '';
    },
  );
}

/** `40s` in milliseconds. */
export function milliseconds(duration: string): number {
  const [, amount = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(duration) ?? [];
  const factor = { ms: 1, s: 1000, m: 60_000 }[unit];
  if (factor === undefined) throw new Error(`${duration} is no duration`);
  return Number(amount) * factor;
}
