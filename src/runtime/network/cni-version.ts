/** The supported versions, oldest first. */
export const CNI_VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof CNI_VERSIONS)[number];

export function isCniVersion(text: string): text is CniVersion {
  return CNI_VERSIONS.some((version) => version === text);
}

export function isAtLeast(version: CniVersion, least: CniVersion): boolean {
  return CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(least);
}

export function newestVersion(versions: readonly CniVersion[]): CniVersion | undefined {
  return CNI_VERSIONS.findLast((version) => versions.includes(version));
}
