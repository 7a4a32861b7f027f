import { expect, test } from '@jest/globals';
import { caBundleProblem, encodedBundleProblem } from './ca-bundle.ts';

/** Certificate of an authority whose key was discarded. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUbkW8cYlrN+fQqMB09LAz3zznRQwwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjExNDExMjFaGA8yMTI2MTAyODE0MTEy
MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAEt
MEZxUE7opnc3lhcNgAbZcPc27NjZ73+u5zXKLs//ArStRMWX7p49Rpyr9baJAq0s
kX1vdOOF74aC5vhHwbmjUzBRMB0GA1UdDgQWBBS+t+zjPQGT3h/KJMEGWBbMuA8u
cjAfBgNVHSMEGDAWgBS+t+zjPQGT3h/KJMEGWBbMuA8ucjAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIBY1lkSWWb3AaQj6T3BKB6A1bqAqD4TrWQn5
8lPS6NdFAiEAog4igIAg2H0XItttesOcu8G1Xxp70ose3NmLnrKkT5w=
-----END CERTIFICATE-----`;

test('a bundle holds certificates that can be read, and may hold other things besides', () => {
  expect(caBundleProblem(certificate)).toBeUndefined();
  expect(caBundleProblem(`# mine\n${certificate}\n${certificate}`)).toBeUndefined();
  expect(encodedBundleProblem('')).toBeUndefined();
  expect(encodedBundleProblem(Buffer.from(certificate).toString('base64'))).toBeUndefined();
});

test.each([
  ['nonsense', 'unable to load root certificates: unable to parse bytes as PEM block'],
  ['', 'unable to load root certificates: unable to parse bytes as PEM block'],
  [
    '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
    'unable to load root certificates: unable to parse bytes as PEM block',
  ],
])('%j is none', (pem, problem) => {
  expect(caBundleProblem(pem)).toBe(problem);
});

test('a certificate that is none spoils the bundle', () => {
  expect(caBundleProblem('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toContain(
    'unable to load root certificates: failed to parse certificate: ',
  );
});
