# Fails if package pkg has less than floor per cent of its statements covered in a profile of go test.
# Usage: awk -v pkg=import/path -v floor=90 -f coverage.awk profile

index($1, pkg "/") == 1 && substr($1, length(pkg) + 2) !~ /\// {
	statements += $2
	if ($3 > 0) covered += $2
}

END {
	percent = statements ? 100 * covered / statements : 0
	if (percent < floor) {
		printf "%s: %.1f %% of statements covered, at least %d %% wanted\n", pkg, percent, floor
		exit 1
	}
}
