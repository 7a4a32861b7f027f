import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { unlessMissing } from '@multiplane/testing';
import { monitoredMetrics, monitoringDashboards, monitoringFolder, monitoringRules } from './monitored-metrics.ts';

const root = join(import.meta.dirname, '..', '..');
const rules = monitoringRules();
const alerts = rules.filter(({ alert }) => alert !== undefined);
const bundled = join(root, '.cache', 'servers', 'usr', 'bin', 'promtool');
const promtool = existsSync(bundled) ? bundled : 'promtool';
const withPromtool = unlessMissing(
  spawnSync(promtool, ['--version']).status === 0 ? undefined : 'promtool is not on the PATH; hack/servers fetches it',
  test,
);
const run = (...args: string[]): { readonly status: number | null; readonly output: string } => {
  const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
};
const prometheus = join(monitoringFolder, 'prometheus');

describe('rules', () => {
  const runbooks = readFileSync(join(root, 'docs', 'runbooks.md'), 'utf8');

  test.each(alerts.map((rule) => [rule.alert as string, rule] as const))(
    '%s has a severity, a summary and a runbook',
    (alert, { labels, annotations }) => {
      expect(['critical', 'warning', 'info']).toContain(labels?.severity);
      expect(annotations?.summary).toMatch(/\.$/);
      expect(annotations?.runbook_url).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
      expect(runbooks).toContain(`\n## ${alert}\n`);
    },
  );

  test('every runbook belongs to an alert', () => {
    const titles = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, title]) => title);
    expect(new Set(titles)).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });

  test('every alert is unit-tested', () => {
    const tests = readFileSync(join(prometheus, 'multiplane.rules.test.yaml'), 'utf8');
    for (const { alert } of alerts) expect(tests).toContain(`runbook_url: docs/runbooks.md#${alert?.toLowerCase()}\n`);
  });

  test('the chart has the same rules', () => {
    const file = join(root, 'deploy', 'helm', 'multiplane', 'files', 'multiplane.rules.yaml');
    expect(readFileSync(file, 'utf8')).toBe(readFileSync(join(prometheus, 'multiplane.rules.yaml'), 'utf8'));
  });

  withPromtool('promtool accepts rules and configurations, and its unit tests pass', () => {
    const compose = join(root, 'deploy', 'compose', 'config', 'prometheus.yaml');
    for (const args of [
      ['check', 'rules', join(prometheus, 'multiplane.rules.yaml')],
      ['test', 'rules', join(prometheus, 'multiplane.rules.test.yaml')],
      ['check', 'config', '--syntax-only', join(prometheus, 'scrape.yaml')],
      ['check', 'config', '--syntax-only', compose],
    ])
      // oxlint-disable-next-line jest/no-standalone-expect -- a test calls it
      expect(run(...args)).toMatchObject({ status: 0 });
  });
});

describe('dashboards', () => {
  test.each(monitoringDashboards().map((dashboard) => [dashboard.title, dashboard] as const))(
    '%s: panels have ids and titles of their own, and queries',
    (_title, { panels }) => {
      for (const values of [panels.map(({ id }) => id), panels.map(({ title }) => title)])
        expect(new Set<unknown>(values).size).toBe(panels.length);
      for (const { targets } of panels) expect(targets.map(({ expr }) => expr).join('')).not.toBe('');
    },
  );

  // That servers export them: e2e/sharded/seen-from-outside.test.ts.
  test('the metrics of all queries are found', () => {
    expect(monitoredMetrics()).toEqual(
      expect.arrayContaining([
        'apiserver_request_total',
        'etcd_request_duration_seconds_bucket',
        'kcp_workspace_count',
        'process_resident_memory_bytes',
        'up',
      ]),
    );
  });
});
