/** Runs the parts of a bench that its command line names, in their order; all of them when it names none. */
export async function measureParts(parts: Readonly<Record<string, () => Promise<void>>>): Promise<void> {
  const wanted = process.argv.slice(2);
  for (const [name, measure] of Object.entries(parts))
    if (wanted.length === 0 || wanted.includes(name)) await measure();
}
