import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';

export const monitoringFolder = join(import.meta.dirname, '..', '..', 'deploy', 'monitoring');

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: { readonly summary?: string; readonly runbook_url?: string };
}

/** Recording and alerting rules in order. */
export function monitoringRules(): readonly Rule[] {
  const text = readFileSync(join(monitoringFolder, 'prometheus', 'multiplane.rules.yaml'), 'utf8');
  const { groups } = parseYaml(text) as unknown as { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

interface Dashboard {
  readonly title: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

export function monitoringDashboards(): readonly Dashboard[] {
  return globSync('dashboards/*.json', { cwd: monitoringFolder })
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(monitoringFolder, file), 'utf8')) as Dashboard);
}

/** Names of the metrics that rules and dashboards read, without those that the rules record. */
export function monitoredMetrics(): string[] {
  const queries = [
    ...monitoringRules().map(({ expr }) => expr),
    ...monitoringDashboards().flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
  ];
  return [...new Set(queries.flatMap(metricsOf))].filter((name) => !name.includes(':')).toSorted();
}

/** Words of a PromQL expression that are neither functions, nor labels, nor keywords. */
function metricsOf(query: string): string[] {
  const bare = query
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '');
  const words = [...bare.matchAll(/\b[a-z_:][a-z0-9_:]*\b(?!\s*\()/gi)].map(([word]) => word);
  return words.filter((word) => !/^(?:or|and|unless|bool|sum|max|min|topk)$/.test(word));
}
