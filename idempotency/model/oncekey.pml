/*
 * One key's record as a Promela model; README.md says what it shows and how to run it.
 *
 * A crash is a process that is never scheduled again, a frozen sandbox one that is scheduled late: both are in every search.
 */
#include "settings.pml"

byte faults;                /* made so far */
byte begunBy;               /* how many requests have begun */
bit dead[6], busy[MAXT], ended[MAXT];

#include "record.pml"
#include "world.pml"
#include "request.pml"
#include "claim.pml"
#if NSHOT
#include "shot.pml"
#endif
#if NPERSON
#include "person.pml"
#endif

#define PRINT(BIT, LAST) (((OTHER & BIT) && LAST) -> 2 : 1)

init {
	atomic {
#if NDO > 0
		run Request(0, PRINT(1, NDO == 1), 0);
#endif
#if NDO > 1
		run Request(1, PRINT(1, NDO == 2), 0);
#endif
#if NDO > 2
		run Request(2, PRINT(1, 1), 0);
#endif
#if NTX > 0
		run Request(NDO, PRINT(2, NTX == 1), 1);
#endif
#if NTX > 1
		run Request(NDO + 1, PRINT(2, NTX == 2), 1);
#endif
#if NTX > 2
		run Request(NDO + 2, PRINT(2, 1), 1);
#endif
#if NSHOT > 0
		run Shot(NDO + NTX, PRINT(4, NSHOT == 1));
#endif
#if NSHOT > 1
		run Shot(NDO + NTX + 1, PRINT(4, 1));
#endif
#if NPERSON > 0
		run Person(NDO + NTX + NSHOT);
#endif
#if NPERSON > 1
		run Person(NDO + NTX + NSHOT + 1);
#endif
	}
}
