/**
 * Prints the usage for `--help`, and what is wrong with the arguments (exit status 2); else runs the command, whose result is
 * the exit status.
 */
export async function runCommand<Arguments>(
  usage: string,
  parse: (args: readonly string[]) => Arguments,
  run: (args: Arguments) => Promise<number>,
): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  let parsed: Arguments;
  try {
    parsed = parse(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    process.exitCode = 2;
    return;
  }
  process.exitCode = await run(parsed);
}
