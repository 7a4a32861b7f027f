#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { createProject } from './create-project.ts';

const usage = `Usage: npm create multiplane-provider <folder> -- [--kind Cowboy] [--group example.dev]

Writes a project with an API, its export, a controller and a test.
`;

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { kind: { type: 'string' }, group: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  const [folder, further] = positionals;
  if (values.help === true) {
    process.stdout.write(usage);
  } else if (folder === undefined || further !== undefined) {
    process.stderr.write(`error: one folder is required\n\n${usage}`);
    process.exitCode = 2;
  } else {
    const files = await createProject({ folder, ...values });
    process.stdout.write(
      `${files.map((file) => `${folder}/${file}\n`).join('')}\nNext: cd ${folder} && npm install && npm test\n`,
    );
  }
} catch (error) {
  process.stderr.write(`error: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
