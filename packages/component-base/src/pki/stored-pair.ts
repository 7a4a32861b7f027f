import { readFileSync } from 'node:fs';
import type { Certificate, CertificateFiles } from './certificate.ts';

/** The texts of a pair; undefined for a file that does not exist. Throws an Error with the file that cannot be read. */
export function readStoredPair({ certificateFile, privateKeyFile }: CertificateFiles): Partial<Certificate> {
  const [certificatePem, privateKeyPem] = [readIfPresent(certificateFile), readIfPresent(privateKeyFile)];
  return {
    ...(certificatePem === undefined ? {} : { certificatePem }),
    ...(privateKeyPem === undefined ? {} : { privateKeyPem }),
  };
}

/** The pair; undefined when neither file exists. Throws an Error when only one does. */
export function wholePair(
  { certificatePem, privateKeyPem }: Partial<Certificate>,
  files: CertificateFiles,
): Certificate | undefined {
  if (certificatePem === undefined && privateKeyPem === undefined) return undefined;
  if (certificatePem === undefined || privateKeyPem === undefined)
    throw new Error(
      `only one of ${files.certificateFile} and ${files.privateKeyFile} exists; restore the other or remove it`,
    );
  return { certificatePem, privateKeyPem };
}

/** The pair in these files; undefined when neither exists. Throws an Error when one cannot be read, or only one exists. */
export const readPair = (files: CertificateFiles): Certificate | undefined => wholePair(readStoredPair(files), files);

/** The text of a file, undefined when it does not exist. Throws an Error with its name when it cannot be read. */
export function readIfPresent(path: string, encoding: BufferEncoding = 'utf8'): string | undefined {
  try {
    return readFileSync(path, encoding);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`cannot read ${path}`, { cause: error });
  }
}
