/** Architectures that Node.js and Go name differently. */
const GO_NAMES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** This machine's architecture as Go, and so images and node labels, name it: `amd64`, `arm64`. */
export function goArchitecture(): string {
  return GO_NAMES[process.arch] ?? process.arch;
}
