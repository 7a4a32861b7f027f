/*
 * Joins the compiled modules of the command into one file, packages/multiplane/dist/bundle.js, which dist/main.js runs in
 * place of them. Node finds, reads and links each module on its own: for nine hundred of them that takes longer than all
 * else until the first answer, and what it remembers of them takes 20 MB. Usage: hack/node hack/bundle.ts
 *
 * swc gives each module the form of CommonJS; here it becomes a function that is run when it is first imported. What is
 * installed stays outside, and so do the modules of threads: a module's `import.meta` is that of the file it came from.
 *
 * Exports are read once, when a module has run. So they must never change afterwards, and modules must not import each
 * other in circles, which hack/verify refuses.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { transformSync } from '@swc/core';

const folder = join(import.meta.dirname, '..', 'packages', 'multiplane', 'dist');

/** The code of modules by their file, in the order of their numbers. */
const modules = new Map<string, { readonly number: number; code: string }>();

/** Takes in a module with all that it imports; its number. */
function add(file: string): number {
  const known = modules.get(file);
  if (known !== undefined) return known.number;
  const added = { number: modules.size, code: '' };
  modules.set(file, added);
  const source = readFileSync(file, 'utf8');
  if (/^export (let|var) /m.test(source)) throw new Error(`${file} exports what can change`);
  const { resolve } = createRequire(file);
  added.code = asFunctionBody(file, source).replaceAll(/\brequire\("([^"]+)"\)/g, (call, name: string) => {
    if (isBuiltin(name)) return call;
    return name.startsWith('.') || name.startsWith('@multiplane/') ? `own(${add(resolve(name))})` : call;
  });
  return added.number;
}

function asFunctionBody(filename: string, source: string): string {
  return transformSync(source, {
    filename,
    swcrc: false,
    configFile: false,
    jsc: {
      parser: { syntax: 'ecmascript' },
      target: 'esnext',
      // One character beyond Latin-1 would double the memory that the whole text takes.
      output: { charset: 'ascii' },
    },
    module: { type: 'commonjs', importInterop: 'node', strict: true },
  }).code;
}

add(join(folder, 'program.js'));

const functions = [...modules].map(
  ([file, { code }]) =>
    `[${JSON.stringify(relative(folder, file))}, (exports, require, __filename, __dirname) => {\n${code}}],\n`,
);
const text = `import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
const loaded = [];
function own(number) {
  const known = loaded[number];
  if (known !== undefined) return known;
  const [file, run] = modules[number];
  const path = join(import.meta.dirname, file);
  const exports = {};
  run(exports, (name) => process.getBuiltinModule(name) ?? createRequire(path)(name), path, dirname(path));
  // Values, where swc makes getters.
  return (loaded[number] = { ...exports });
}
const modules = [
${functions.join('')}];
own(0);
`;
const bundle = join(folder, 'bundle.js');
// Whoever starts meanwhile finds the old one or the new one.
const temporary = `${bundle}.${process.pid}`;
writeFileSync(temporary, text);
renameSync(temporary, bundle);
