"""The commonest small words of languages in Latin letters, by Tesseract's names: no text of some lines goes without."""

from typing import Final

# Written as OCR without a language's own letters reads them: accents off, ß as ss. Words that English has, too, say
# nothing and are left out when languages are told apart; English is here for them.
FUNCTION_WORDS: Final = {
    code: frozenset(words.split())
    for code, words in {
        "eng": "the of and to in is was that for it with as his on be at by had not are but from or have an they which"
        " one you were her all she there would their we him been has when who will more no if out so said what up its"
        " about into than them can only other new some could time these two may then do first any my now such like our"
        " over man me even most made after also did many before must through back years where much your way well down"
        " should because each just those people mr how too little state good very make world still own see men work"
        " long get here between both life being under never day same another know while last might us great old year"
        " off come since against go came right used take three die war den bin hat gift rot son sin per sur pour note"
        " site due data case ate a i he am hand art los sera tar tag van en de la las el se um nor plus dans mot pas"
        " dot par est ad id non den hop tot door over men nu per met sin via men da di al are era sue sui sono come"
        " till from under ben ham han mod ja dog man fik led var sit log set ten era ten to do go co nie pod tam ale",
        "deu": "der die und den von zu das mit sich des auf fur ist im dem nicht ein eine als auch es an werden aus er"
        " hat dass sie nach wird bei einer um am sind noch wie einem uber einen so zum war haben nur oder aber vor zur"
        " bis mehr durch man sein wurde sei ihr seine wenn ich kann gegen vom konnen schon wir unter ihre keine diese"
        " dieser dieses zwischen muss mussen wurden jahr seit ohne sowie ihrer damit doch beim ab gilt jede",
        "fra": "le les des et un une du en dans que qui pour il au sur ne par plus pas ce sont est avec son elle aux ou"
        " se mais comme nous vous ont cette ces ete etre fait leur sans si deux meme aussi bien peut tous apres tout"
        " ainsi entre dont sous depuis chaque toute autres votre notre doit avant lors je tres",
        "spa": "que el en los del las un por con una su para es al lo como mas pero sus le ha se este si porque esta"
        " entre cuando muy sin sobre ser tiene tambien hasta hay donde han quien desde todo nos durante todos uno les"
        " ni contra otros ese eso ante ellos segun cada debe fue son estos y nuestro",
        "ita": "di che il un per una in sono mi ho non ma lo ha con ti se gli della nel alla dei del delle si piu le da"
        " anche come al degli questo questa dal nella essere stato ed dopo sul sono tra ogni alle dalla cui fra suo"
        " sua loro quando sulla tutti nei ai deve senza presso",
        "por": "que do da em um para com nao uma os no se na por mais as dos como mas foi ao ele das tem seu sua ou ser"
        " quando muito ha nos ja esta eu tambem pelo pela ate isso ela entre era depois sem mesmo aos seus quem nas"
        " esse eles essa num nem suas meu sao deve cada",
        "nld": "het een van en is dat op te in voor met zijn niet aan er om ook als dan maar bij nog naar uit wordt"
        " door heeft hij werd deze kan geen meer dit hebben worden tegen onder over tot worden moet zich wel haar mijn"
        " daar waar jaar tussen alle wij je ze na elke",
        "pol": "sie nie na jest ze do to jak przez od po oraz dla za przy lub jego tym ich tylko ale juz moze ktory"
        " ktore ktora byl bylo byly tego tej przed pod bez gdy aby jako sa czy roku nalezy bedzie takze miedzy jej",
        "ces": "je na se ze do ve to za by byl jako od podle pro ale jsou nebo jeho pri az tak bylo pouze jsme pod byt"
        " ktery ktere ktera podle ma po jak mezi take rok roku musi vsak kdyz nad jejich bude tento byla byly pred",
        "slk": "je na sa ze do vo to za by bol ako od podla pre ale su alebo jeho pri az tak bolo iba sme pod byt"
        " ktory ktore ktora ma po aj medzi tiez rok roku musi vsak ked nad ich bude tento bola boli pred",
        "swe": "och att det som en av ar den till med inte om ett han men var jag sig fran vi kan nar skall efter vid"
        " har eller aven sina hon mot sedan genom ska denna detta dessa under mellan blir alla utan ocksa sin dar",
        "dan": "og at det som en af er den til med ikke om et han men var jeg sig fra vi kan nar skal efter ved har"
        " eller ogsa sin hun mod siden gennem denne dette disse under mellem bliver alle uden der deres blev efter",
        "nor": "og at det som en av er den til med ikke om et han men var jeg seg fra vi kan nar skal etter ved har"
        " eller ogsa sin hun mot siden gjennom denne dette disse under mellom blir alle uten der deres ble etter",
        "fin": "ja on ei se oli ettei etta joka mutta myos kun niin ovat tai han kuin jos sen voi olla ole vain mita"
        " jotka sita sekä sitten nyt mukaan jalkeen kanssa tama taman olisi kaikki ennen aina tulee ellei jos"
        " muuta muun saa voidaan vuoden joita jonka tassa ovat kuten ilman myos viela",
        "tur": "ve bir bu da de icin ile olarak cok daha olan gibi kadar ne ki her sonra en o ya var mi olan oldugu"
        " tarafindan ancak veya olup ise degil yil gore hem iki uzere bunun sadece",
        "hun": "es az hogy nem egy is meg ez csak van azt mint volt vagy ha de ezt mar kell lehet el ki majd meg igy"
        " minden mert pedig utan szerint amely ami alatt kozott illetve nagyon valamint",
        "ron": "de si la nu in pe cu un o sa din ca care mai este pentru sunt au fost prin al ale dar sau acest aceasta"
        " fi cele dupa ce cand lui fie intre fara asupra trebuie unei unui",
        "hrv": "je na se da za od su iz ne kao koji koja koje ili ali bio bila po sve ima uz samo prema nakon ce kod"
        " biti godine moze do izmedu vec sto tako bez ovo",
        "cat": "de la que el en els les i un una per amb del es no al dels com mes pero va son seu seva aquest aquesta"
        " entre ser tambe han fins quan sobre sense des ha on",
        "ind": "yang dan di untuk dengan dari ini dalam pada adalah tidak itu akan ke oleh juga atau telah sebagai"
        " dapat lebih harus mereka ada saya kami bahwa karena setelah",
        "vie": "va la cua cac co duoc cho trong khong voi nhung mot nay den nguoi khi tren ve theo da tu phai nhu cung",
        "lit": "ir kad yra su is apie bet kaip tai jo nuo ar buvo taip pat iki per tik jis savo turi buti arba",
        "lav": "un ir ka uz no ar par bet vai kas pie tas lai pec to nav bija tikai savu var ari gada jabut",
        "est": "ja on ei et see oli ka kui mis ning aga oma ta voi pole siis kes selle tema aasta peab parast",
        "slv": "je in na se da za so ki pa s z tudi od iz po ne kot ali ter bi bil bila lahko mora med leta pri",
    }.items()
}
