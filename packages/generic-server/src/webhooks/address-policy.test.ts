import { describe, expect, test } from '@jest/globals';
import { AddressPolicy } from './address-policy.ts';

const plain = new AddressPolicy({ allowed: [], denied: [] });

describe('address policy', () => {
  test.each(['93.184.216.34', '8.8.8.8', '2606:2800:220:1:248:1893:25c8:1946', '172.32.0.1', '100.128.0.1'])(
    'lets the public address %s be called',
    (address) => {
      expect(plain.allows(address)).toBe(true);
    },
  );

  test.each([
    '127.0.0.1',
    '127.1.2.3',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.100.100.200',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    '::127.0.0.1',
    'fe80::1',
    'fd00:ec2::254',
    'ff02::1',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '::FFFF:10.0.0.1',
    'localhost',
    '',
  ])('keeps %s closed', (address) => {
    expect(plain.allows(address)).toBe(false);
  });

  test('allows the networks of the operator in every notation, and no others', () => {
    const policy = new AddressPolicy({ allowed: ['10.1.0.0/16', '::1'], denied: [] });
    expect(['10.1.2.3', '::ffff:10.1.2.3', '::1'].map((address) => policy.allows(address))).toEqual([true, true, true]);
    expect(['10.2.0.1', '127.0.0.1', 'fe80::1'].map((address) => policy.allows(address))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test('denied networks take precedence over allowed and public ones', () => {
    const policy = new AddressPolicy({ allowed: ['0.0.0.0/0'], denied: ['169.254.0.0/16', '8.8.8.8'] });
    expect(policy.allows('10.0.0.1')).toBe(true);
    expect(policy.allows('169.254.169.254')).toBe(false);
    expect(policy.allows('::ffff:169.254.169.254')).toBe(false);
    expect(policy.allows('8.8.8.8')).toBe(false);
  });

  test.each(['10.0.0.0/33', 'example.com', '10.0.0.0/x', '::/129', ''])('rejects %s as a network', (network) => {
    expect(() => new AddressPolicy({ allowed: [network], denied: [] })).toThrow(`invalid network ${network}`);
  });
});
