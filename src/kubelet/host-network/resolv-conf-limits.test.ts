import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { resolvConfWarning } from './resolv-conf-limits.ts';

const FILE = '/etc/resolv.conf';
const domains = (count: number, length = 3): string => {
  const name = (index: number): string => String(index).padStart(length, 'd');
  return `search ${Array.from({ length: count }, (_, index) => name(index)).join(' ')}\n`;
};

const cases: Record<string, { text?: string; clusterDomain?: string; resolvConf?: string; warning?: string }> = {
  'no file of its own': { resolvConf: '' },
  'a missing file': { warning: `open ${FILE}: no such file or directory` },
  'as many domains as fit': { text: domains(32) },
  'a domain too many': {
    text: domains(33),
    warning: `Resolv.conf file '${FILE}' contains search line consisting of more than 32 domains!`,
  },
  'no room for the domains of the cluster': {
    text: domains(30),
    clusterDomain: 'cluster.local',
    warning: `Resolv.conf file '${FILE}' contains search line consisting of more than 29 domains!`,
  },
  'room for them': { text: domains(29), clusterDomain: 'cluster.local' },
  'a long domain': {
    text: domains(1, 254),
    warning: `Resolv.conf file "${FILE}" contains a search path which length is more than allowed 253 chars!`,
  },
  'a long line': {
    text: domains(10, 250),
    warning: `Resolv.conf file '${FILE}' contains search line which length is more than allowed 2048 chars!`,
  },
};

for (const [name, { text, clusterDomain = '', resolvConf = FILE, warning }] of Object.entries(cases)) {
  test(`resolvConfWarning(): ${name}`, async () => {
    const { fs } = createMemoryHost();
    await fs.makeDirectory('/etc');
    if (text !== undefined) await fs.writeFile(FILE, text);
    assert.equal(await resolvConfWarning({ resolvConf, clusterDomain }, fs), warning);
  });
}
