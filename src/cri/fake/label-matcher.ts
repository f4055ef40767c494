type Labels = Readonly<Record<string, string>>;

/** Tells whether labels have all of `wanted`; nothing wanted, nothing missed. */
export function labelMatcher(wanted: Labels | undefined): (labels: Labels) => boolean {
  const pairs = Object.entries(wanted ?? {});
  return (labels) => pairs.every(([key, value]) => labels[key] === value);
}
