import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes containerd's hosts.toml files, which redirect the hosts of images to a local registry. */
export function writeRegistryHosts(folder: string, hosts: readonly string[], registry: string): void {
  const url = `http://${registry}`;
  const content = `server = "${url}"\n\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
  for (const host of hosts) {
    mkdirSync(join(folder, host), { recursive: true });
    writeFileSync(join(folder, host, 'hosts.toml'), content);
  }
}
