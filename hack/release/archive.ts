/**
 * Packs a folder into an archive, the same bytes for the same content (tar.ts). Files have the date SOURCE_DATE_EPOCH.
 * Usage: archive.ts <folder> <name of the folder in the archive> <archive>
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { filesBelow, packArchive } from './tar.ts';

const [folder, within, archive] = process.argv.slice(2);
if (folder === undefined || within === undefined || archive === undefined)
  throw new Error('usage: archive.ts <folder> <name of the folder in the archive> <archive>');
writeFileSync(archive, packArchive(filesBelow(resolve(folder), within), Number(process.env['SOURCE_DATE_EPOCH'] ?? 0)));
