import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseNatBackend,
  type InstalledIptables,
  iptablesVariant,
  type NatChoice,
  type NatFacts,
  type NatProgram,
  ruleSets,
} from './nat-backend.ts';

const MISSING: NatProgram = { state: 'missing' };
const USABLE: NatProgram = { state: 'usable' };
const failing = (error: string): NatProgram => ({ state: 'failing', error });
const none = (errors: string): NatChoice => ({
  kind: 'none',
  error: `pods cannot have a network of their own: ${errors}`,
});

const MACHINES: Record<string, { facts: Partial<NatFacts>; choice: NatChoice }> = {
  'iptables alone': { facts: { nft: MISSING }, choice: { kind: 'iptables' } },
  'iptables and nft': { facts: {}, choice: { kind: 'iptables' } },
  'nft alone': { facts: { iptables: MISSING }, choice: { kind: 'nftables' } },
  'nft without portmap': { facts: { iptables: MISSING, hasPortmap: false }, choice: { kind: 'nftables' } },
  'iptables that the kernel has no module for, and nft': {
    facts: { iptables: failing('Table does not exist') },
    choice: { kind: 'nftables' },
  },
  'iptables and nft, no portmap': { facts: { hasPortmap: false }, choice: { kind: 'nftables' } },
  'iptables, no portmap and no nft': { facts: { hasPortmap: false, nft: MISSING }, choice: { kind: 'iptables' } },
  'iptables, no portmap, nft that fails': {
    facts: { hasPortmap: false, nft: failing('Operation not supported') },
    choice: { kind: 'iptables' },
  },
  'neither program': {
    facts: { iptables: MISSING, nft: MISSING },
    choice: none('iptables is not installed, and nft is not installed; install the package nftables or iptables'),
  },
  'iptables fails, no nft': {
    facts: { iptables: failing('Table does not exist'), nft: MISSING },
    choice: none('iptables fails (Table does not exist), and nft is not installed; install the package nftables'),
  },
  'no iptables, nft fails': {
    facts: { iptables: MISSING, nft: failing('Operation not supported') },
    choice: none('iptables is not installed, and nft fails (Operation not supported); install the package iptables'),
  },
  'both fail': {
    facts: { iptables: failing('Table does not exist'), nft: failing('Operation not supported') },
    choice: none(
      'iptables fails (Table does not exist), and nft fails (Operation not supported); the kernel needs nf_tables with NAT',
    ),
  },
};

for (const [name, { facts, choice }] of Object.entries(MACHINES)) {
  test(`chooseNatBackend(): ${name}`, () => {
    assert.deepEqual(chooseNatBackend({ iptables: USABLE, nft: USABLE, hasPortmap: true, ...facts }), choice);
  });
}

test('iptablesVariant()', () => {
  assert.deepEqual(
    ['iptables v1.8.9 (nf_tables)\n', 'iptables v1.8.9 (legacy)\n', 'iptables v1.6.1\n'].map(iptablesVariant),
    ['nf_tables', 'legacy', 'legacy'],
  );
});

const DEBIAN: InstalledIptables = { variant: 'nf_tables', hasNft: true, hasLegacy: true, legacyTables: '' };
const INSTALLED: Record<string, { installed: Partial<InstalledIptables>; programs: string[] }> = {
  'one set on a machine that was never switched': { installed: {}, programs: ['iptables'] },
  'rules of the legacy variant, after a switch': {
    installed: { legacyTables: 'filter\nnat\n' },
    programs: ['iptables', 'iptables-legacy'],
  },
  'legacy tables of others': { installed: { legacyTables: 'filter\n' }, programs: ['iptables'] },
  'legacy tables that no program can list': {
    installed: { legacyTables: 'nat\n', hasLegacy: false },
    programs: ['iptables'],
  },
  'rules of the nf_tables variant, after a switch': {
    installed: { variant: 'legacy', legacyTables: 'nat\n' },
    programs: ['iptables', 'iptables-nft'],
  },
  'no iptables, both variants by their own names': {
    installed: { variant: undefined, legacyTables: 'nat\n' },
    programs: ['iptables-nft', 'iptables-legacy'],
  },
  'nothing installed': { installed: { variant: undefined, hasNft: false, hasLegacy: false }, programs: [] },
};

for (const [name, { installed, programs }] of Object.entries(INSTALLED)) {
  test(`ruleSets(): ${name}`, () => {
    const sets = ruleSets({ ...DEBIAN, ...installed });
    assert.deepEqual(
      sets,
      programs.map((change) => ({ change, save: `${change}-save`, mayFail: change !== 'iptables' })),
    );
  });
}
