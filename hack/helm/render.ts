/** Renders the chart into deploy/helm/rendered/. Needs Helm 3. Usage: render.ts [helm] */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releases, renderedFolder, sourceLine, templateArguments } from './chart.ts';

const helm = process.argv[2] ?? 'helm';
mkdirSync(renderedFolder, { recursive: true });
for (const release of Object.keys(releases)) {
  const text = execFileSync(helm, templateArguments(release), { encoding: 'utf8' });
  writeFileSync(join(renderedFolder, `${release}.yaml`), sourceLine(release) + text);
}
