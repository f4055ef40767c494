type Labels = Readonly<Record<string, string>>;

/** Returns a predicate for labels that contain all of `wanted`. */
export function labelMatcher(wanted: Labels | undefined): (labels: Labels) => boolean {
  const pairs = Object.entries(wanted ?? {});
  return (labels) => pairs.every(([key, value]) => labels[key] === value);
}
